"""`KeptRanges`: ranges of objects that were read once, in a temporary file."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import weakref
from typing import IO, Final, NamedTuple

LOG: Final = logging.getLogger(__name__)


class _Kept(NamedTuple):
    """A range of an object.

    Args:
        start: Its start in the object.
        end: Its end in the object.
        offset: Its start in the temporary file.
        size: Size of the whole object.
    """

    start: int
    end: int
    offset: int
    size: int


class KeptRanges:
    """Ranges of objects that do not change, kept in a temporary file without a name.

    Threads may share it. A disk that fills up ends the keeping, and nothing else.

    Args:
        limit_bytes: Size limit of the file; ranges beyond it are not kept. 0 keeps none.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._ranges: dict[str, list[_Kept]] = {}
        self._file: IO[bytes] | None = None
        self._size = 0
        self._lock = threading.Lock()

    def find(self, key: str, start: int, length: int) -> tuple[bytes, int] | None:
        """Return a range of an object and the size of the object; None if no kept range holds all of it."""
        with self._lock:
            for kept in self._ranges.get(key, ()):
                end = min(start + length, kept.size)
                if kept.start <= start <= end <= kept.end and self._file is not None:
                    content = os.pread(self._file.fileno(), end - start, kept.offset + start - kept.start)
                    return (content, kept.size) if len(content) == end - start else None
        return None

    def keep(self, key: str, start: int, content: bytes, size: int) -> None:
        """Keep a range of an object, given the size of the object."""
        with self._lock:
            if not content or self._size + len(content) > self._limit_bytes:
                return
            try:
                if self._file is None:
                    self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this object
                    weakref.finalize(self, self._file.close)
                written = os.pwrite(self._file.fileno(), content, self._size)
            except OSError as error:
                LOG.debug("ranges are no longer kept: %s", error)
                written, self._limit_bytes = 0, 0
            if written == len(content):
                self._ranges.setdefault(key, []).append(_Kept(start, start + len(content), self._size, size))
                self._size += len(content)
