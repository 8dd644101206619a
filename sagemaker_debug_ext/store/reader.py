"""Read a trial's objects: list the index, read one index file, read records of event files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.errors import CorruptRecordError, IndexReaderException
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, ObjectInfo
from sagemaker_debug_ext.store.format.index import IndexFile, Location
from sagemaker_debug_ext.store.format.keys import INDEX_PREFIX
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.templates import RecordDecoder, RecordTemplate, find_content

_MIB: Final = 1 << 20

_LARGE_BYTES: Final = _MIB
"""Records of at least this size are read directly into their final memory."""

_WHOLE_FILE_BYTES: Final = 64 << 10
_WHOLE_FILE_BYTES_REMOTE: Final = _MIB
"""Event files up to this size are read whole, because the next requested record is likely to be in them."""

_KEPT_BYTES: Final = 8 * _MIB
_KEPT_BYTES_REMOTE: Final = 64 * _MIB
"""Cache size for such files."""

_END_BYTES: Final = 16 << 10
"""Bytes read at each end of a record to learn its layout; they hold its name and shape."""


def list_index(backend: Backend) -> list[ObjectInfo]:
    """Return the index files, sorted by key; names are not checked, see `keys.parse_index_key`."""
    return [info for info in backend.list(INDEX_PREFIX) if info.key.endswith(".json")]


def read_index(backend: Backend, key: str) -> IndexFile:
    """Read one index file.

    Raises:
        IndexReaderException: The file does not exist or is not an index file.
    """
    content = backend.read(key)
    if content is None:
        raise IndexReaderException(f"{key}: the index file is gone")
    return IndexFile.from_json(bytes(content), key)


def place_of(event_file: str, start: int) -> str:
    """Return the name of a record for errors."""
    return f"{event_file} at byte {start}"


class EventReader:
    """Reads records of a trial's event files. May be used from several threads.

    Small event files are cached, up to 8 MiB in total, or 64 MiB for remote back ends; so are those that were fetched.

    Args:
        backend: The back end that holds the trial.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.decoder = RecordDecoder()
        self._whole_file_bytes = _WHOLE_FILE_BYTES_REMOTE if backend.is_remote else _WHOLE_FILE_BYTES
        self._max_kept_bytes = _KEPT_BYTES_REMOTE if backend.is_remote else _KEPT_BYTES
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._given: dict[str, dict[tuple[int, int], Buffer]] = {}
        self._lock = threading.Lock()

    def value(self, event_file: str, location: Location, name: str, step: int, file_end: int = 0) -> Array:
        """Return the value of one record.

        Args:
            event_file: Key of the event file.
            location: Location of the record in the file.
            name: The stored name according to the index; the record must have the same.
            step: The global step according to the index.
            file_end: End of the last record in the file, as far as is known.

        Returns:
            A read-only array.

        Raises:
            FileNotFoundError: The event file does not exist.
            CorruptRecordError: The record does not match the index, or its bytes are damaged.
            MissingDependencyError: The dtype needs a package that is not installed.
            OSError: The back end failed.
        """
        record = self._read(event_file, location, file_end)
        if record is None:
            raise FileNotFoundError(event_file)
        try:
            return self.decode(record, event_file, location, name, step)
        except CorruptRecordError:
            self.forget(event_file)
            raise

    def give(self, event_file: str, start: int, content: Buffer) -> None:
        """Provide a part of an event file that was read before, so that it is not read again until it is forgotten."""
        with self._lock:
            self._given.setdefault(event_file, {})[start, start + len(content)] = content

    def decode(self, record: Buffer, event_file: str, location: Location, name: str, step: int) -> Array:
        """Return the value of a record from its bytes; see `value`."""
        if len(record) != location.length:
            raise CorruptRecordError(
                place_of(event_file, location.start),
                f"record of {location.length} bytes is cut off after {len(record)}",
            )
        value = self.decoder.decode_with_template(record, name, step)
        if value is None:
            value = self.decoder.decode(record, name, place_of(event_file, location.start))
        return value

    def template(self, event_file: str, location: Location, name: str) -> RecordTemplate | None:
        """Return the template of a record, from the ends of the record if needed; None if its layout is unknown.

        Args:
            event_file: Key of the event file.
            location: Location of the record in the file.
            name: The stored name according to the index.

        Raises:
            OSError: The back end failed.
        """
        start, length = location
        known = self.decoder.template(name, length)
        if known is not None:
            return known
        ends = bytearray(min(_END_BYTES, length)), bytearray(min(_END_BYTES, length))
        for begin, end in zip((start, start + length - len(ends[1])), ends, strict=True):
            if self.backend.read_into(event_file, begin, [memoryview(end)]) < len(end):
                return None
        return self.decoder.learn(*ends, length, name, place_of(event_file, start))

    def _read(self, event_file: str, location: Location, file_end: int) -> Buffer | None:
        start, length = location
        known = self._find(event_file, start, start + length)
        if known is not None:
            return known
        if start + length <= file_end <= self._whole_file_bytes:
            content = self.backend.read(event_file, 0, file_end)
            if content is None:
                return None
            block = bytes(content)
            self._keep(event_file, block)
            return block[start : start + length]
        if length >= _LARGE_BYTES:
            return self.backend.read_aligned(event_file, start, length, find_content)
        return self.backend.read(event_file, start, length)

    def should_fetch(self, num_bytes: int, file_end: int) -> bool:
        """Return whether to `fetch` an event file, given the bytes to read of it and the end of its last record."""
        return (
            self.backend.is_remote
            and self._whole_file_bytes < file_end <= self._max_kept_bytes // 4
            and 2 * num_bytes >= file_end
        )

    def fetch(self, files: Sequence[tuple[str, int]]) -> None:
        """Read event files whole and cache them, because much of each is needed.

        Args:
            files: Key and end of the last record of each; those that cannot be read are left out.
        """
        wanted = [ByteRange(event_file, 0, end) for event_file, end in files]
        for byte_range, content in zip(wanted, self.backend.read_many(wanted), strict=True):
            if content is not None and not isinstance(content, OSError):
                self._keep(byte_range.key, bytes(content))

    def read_spans(self, spans: Sequence[tuple[str, int, int]], file_end: int) -> list[Buffer | OSError | None]:
        """Return parts of several event files of the same size, with as few requests as is efficient.

        Args:
            spans: Key, start and end of each part.
            file_end: End of the last record in the files, as far as is known.

        Returns:
            The parts; None for a file that does not exist, and the error for one that cannot be read.
        """
        whole = file_end <= self._whole_file_bytes and all(end <= file_end for _, _, end in spans)
        found: list[Buffer | OSError | None] = [None] * len(spans)
        wanted: list[int] = []
        for position, (event_file, start, end) in enumerate(spans):
            found[position] = self._find(event_file, start, end)
            if found[position] is None:
                wanted.append(position)
        if not wanted:
            return found
        # Whole files are only worth caching if they are read again, not if one call reads everything needed.
        keep = whole and sum(end - start for _, start, end in spans) < file_end * len(spans)
        ranges = [self._range(spans[position], file_end if keep else 0) for position in wanted]
        for position, content in zip(wanted, self.backend.read_many(ranges), strict=True):
            found[position] = content
            if keep and content is not None and not isinstance(content, OSError):
                event_file, start, end = spans[position]
                block = bytes(content)
                self._keep(event_file, block)
                found[position] = block[start:end]
        return found

    def _find(self, event_file: str, start: int, end: int) -> Buffer | None:
        """Return a part of an event file if it is known."""
        block = self._kept.get(event_file, b"")
        return block[start:end] if end <= len(block) else self._given.get(event_file, {}).get((start, end))

    @staticmethod
    def _range(span: tuple[str, int, int], whole: int) -> ByteRange:
        event_file, start, end = span
        return ByteRange(event_file, 0, whole) if whole else ByteRange(event_file, start, end - start)

    def _keep(self, event_file: str, block: bytes) -> None:
        with self._lock:
            self._kept_bytes += len(block) - len(self._kept.pop(event_file, b""))
            self._kept[event_file] = block
            while self._kept_bytes > self._max_kept_bytes:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1])

    def forget(self, event_file: str) -> None:
        """Drop what is known of an event file, because it may have been replaced."""
        with self._lock:
            self._kept_bytes -= len(self._kept.pop(event_file, b""))
            self._given.pop(event_file, None)


def read_tensor(backend: Backend, event_file: str, location: Location, name: str) -> Array:
    """Read the value of one tensor; see `EventReader.value`."""
    return EventReader(backend).value(event_file, location, name, 0)
