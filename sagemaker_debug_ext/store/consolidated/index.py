"""The consolidated index: one object with the content of all index files of a trial.

smdebug ignores it. A reader lists the index files as usual, and skips reading those whose current content is known to
be in the consolidated index. An outdated consolidated index is therefore harmless.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, ObjectInfo
from sagemaker_debug_ext.store.consolidated.table import DAMAGE, IndexedFile, decode_table, encode_table
from sagemaker_debug_ext.store.format.index import IndexParser
from sagemaker_debug_ext.store.format.keys import CONSOLIDATED_KEY, INDEX_PREFIX, StepFile, try_parse_index_key

LOG = logging.getLogger(__name__)

CONSOLIDATE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_CONSOLIDATE_INDEX"
"""Environment variable that makes the worker that marks the end of a job also write the consolidated index."""

_OFF: Final = ("", "0", "false", "off", "no")
_FILES_AT_ONCE: Final = 256
_MARGIN_SECONDS: Final = 1.0
"""Allowance for the time to write the object; files written in the meantime do not count as included."""


def is_wanted() -> bool:
    """Return whether the environment asks for a consolidated index at the end of the job."""
    return os.environ.get(CONSOLIDATE_VARIABLE, "").strip().lower() not in _OFF


def consolidate(backend: Backend) -> int:
    """Write the consolidated index of a trial, replacing an earlier one.

    Index files that cannot be read, and foreign files, are skipped; readers read them individually.

    Returns:
        Number of index files in the consolidated index.

    Raises:
        OSError: The back end failed.
    """
    began_at = time.monotonic()
    listed = [
        (info.key, step_file) for info in backend.list(INDEX_PREFIX) if (step_file := try_parse_index_key(info.key))
    ]
    files: list[IndexedFile] = []
    for start in range(0, len(listed), _FILES_AT_ONCE):
        files += _read(backend, listed[start : start + _FILES_AT_ONCE])
    age_seconds = time.monotonic() - began_at + _MARGIN_SECONDS
    backend.write(CONSOLIDATED_KEY, (encode_table(files, repr(age_seconds)),))
    return len(files)


def _read(backend: Backend, listed: Sequence[tuple[str, StepFile]]) -> Iterator[IndexedFile]:
    parser = IndexParser()
    contents = backend.read_many([ByteRange(key) for key, _ in listed])
    for (key, step_file), content in zip(listed, contents, strict=True):
        if isinstance(content, OSError):
            raise content
        if content is None:  # being rewritten
            continue
        try:
            entry = parser.parse(bytes(content), key)
        except IndexReaderException as error:
            LOG.debug("left out of the consolidated index: %s", error)
            continue
        yield IndexedFile(_version(content), *step_file, entry)


def _version(content: Buffer) -> str:
    return f"{len(content)}-{hashlib.md5(content, usedforsecurity=False).hexdigest()}"


@attrs.frozen
class ConsolidatedIndex:
    """The content of a consolidated index.

    Args:
        files: Key → content of each index file.
        as_of: Files written before this time, by the back end's clock, are included in their final state; 0 if the
            back end gives no times.
    """

    files: dict[str, IndexedFile]
    as_of: float

    @classmethod
    def load(cls, backend: Backend) -> ConsolidatedIndex | None:
        """Read the consolidated index of a trial; None if there is no valid one."""
        info = next(iter(backend.list(CONSOLIDATED_KEY)), None)
        if info is None or info.key != CONSOLIDATED_KEY:
            return None
        try:
            content = backend.read(CONSOLIDATED_KEY)
            age_seconds, files = decode_table(bytes(content or b""))
            return cls(files, info.modified_at - float(age_seconds) if info.modified_at else 0.0)
        except (OSError, *DAMAGE) as error:
            LOG.debug("the consolidated index of %s is not used: %s", backend.url, error)
            return None

    def find(self, info: ObjectInfo) -> IndexedFile | None:
        """Return the content of an index file, with its listed version; None if it may have changed.

        The content is current if the size is the same and the back end gives the same checksum. If the back end gives
        no checksum, the file must have been written before the consolidated index was begun.
        """
        known = self.files.get(info.key)
        if known is None:
            return None
        size, _, md5 = known.version.partition("-")
        is_same = info.md5 == md5 if info.md5 else 0 < info.modified_at < self.as_of
        return known._replace(version=info.version) if is_same and size == str(info.size) else None
