"""The index of a trial, kept on this machine's disk, so that opening it again reads only what is new.

What is kept is found again by the version that the back end gives to each index file; a file that has been replaced
since does not match, and is read. The cache is a help only: one that is damaged, unwritable or of another version of
this package is passed over.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.store.backends.fileio import renamed_at_end
from sagemaker_debug_ext.store.consolidated.table import DAMAGE, IndexedFile, decode_table, encode_table
from sagemaker_debug_ext.store.format.index import IndexEntry
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile

LOG = logging.getLogger(__name__)

CACHE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_CACHE_DIR"
"""Environment variable with the folder of the cache; ``off`` for none."""

_SUFFIX: Final = ".index"
_MAX_CACHES: Final = 200


def cache_folder() -> Path | None:
    """Return where indexes are kept; None if they are not to be."""
    chosen = os.environ.get(CACHE_VARIABLE, "").strip()
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    try:
        return (Path(base) if base else Path.home() / ".cache") / "sagemaker_debug_ext"
    except RuntimeError:  # there is no home folder
        return None


class IndexCache:
    """The kept index of one trial.

    Args:
        folder: Where indexes are kept.
        place: What names the trial's place; see `Backend.cache_key`.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self.path = folder / (hashlib.sha256(place.encode()).hexdigest()[:40] + _SUFFIX)
        self._place = place

    def load(self) -> dict[str, IndexedFile]:
        """Return what is kept: key of the index file → what it held. Nothing if there is no sound cache."""
        try:
            place, files = decode_table(self.path.read_bytes())
        except OSError:
            return {}
        except DAMAGE as error:
            LOG.debug("the kept index %s is not used: %s", self.path, error)
            return {}
        return files if place == self._place else {}

    def save(self, files: Iterable[IndexEntryFile]) -> None:
        """Keep an index, replacing an earlier one."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.path.parent)
            with renamed_at_end(temporary, self.path), open(descriptor, "wb") as file:
                file.write(encode_table(map(_to_indexed, files), self._place))
            self._prune()
        except OSError as error:
            LOG.debug("the index is not kept: %s", error)

    def _prune(self) -> None:
        """Drop the indexes that have not been written for longest, beyond a number."""
        kept = list(self.path.parent.glob("*" + _SUFFIX))
        if len(kept) <= _MAX_CACHES:
            return
        for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_MAX_CACHES]:
            path.unlink(missing_ok=True)


def _to_indexed(file: IndexEntryFile) -> IndexedFile:
    return IndexedFile(file.version, file.step, file.worker, IndexEntry(*file.mode_step, file.event_file, file.content))
