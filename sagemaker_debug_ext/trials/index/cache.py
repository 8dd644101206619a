"""Cache of a trial's index on this machine's disk, so that opening the trial again only reads new index files.

Cached entries are looked up by the version that the back end gives to each index file; the version of a replaced file
does not match, so the file is read. A cache that is damaged, not writable or of another version of this package is
ignored.
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
"""Environment variable with the cache folder; ``off`` disables the cache."""

_SUFFIX: Final = ".index"
_MAX_CACHES: Final = 200


def cache_folder() -> Path | None:
    """Return the cache folder; None if the cache is disabled."""
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
    """The cached index of one trial.

    Args:
        folder: The cache folder.
        place: Identifies the location of the trial; see `Backend.cache_key`.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self.path = folder / (hashlib.sha256(place.encode()).hexdigest()[:40] + _SUFFIX)
        self._place = place

    def load(self) -> dict[str, IndexedFile]:
        """Return key → content of the cached index files; empty if there is no valid cache."""
        try:
            place, files = decode_table(self.path.read_bytes())
        except OSError:
            return {}
        except DAMAGE as error:
            LOG.debug("the kept index %s is not used: %s", self.path, error)
            return {}
        return files if place == self._place else {}

    def save(self, files: Iterable[IndexEntryFile]) -> None:
        """Cache an index, replacing an earlier one."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.path.parent)
            with renamed_at_end(temporary, self.path), open(descriptor, "wb") as file:
                file.write(encode_table(map(_to_indexed, files), self._place))
            self._prune()
        except OSError as error:
            LOG.debug("the index is not kept: %s", error)

    def _prune(self) -> None:
        """Remove the caches that were written longest ago, beyond `_MAX_CACHES`."""
        kept = list(self.path.parent.glob("*" + _SUFFIX))
        if len(kept) <= _MAX_CACHES:
            return
        for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_MAX_CACHES]:
            path.unlink(missing_ok=True)


def _to_indexed(file: IndexEntryFile) -> IndexedFile:
    return IndexedFile(file.version, file.step, file.worker, IndexEntry(*file.mode_step, file.event_file, file.content))
