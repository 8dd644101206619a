"""Read a trial's objects: list the index, read one index file, read one tensor."""

from __future__ import annotations

from sagemaker_debug_ext.errors import CorruptRecordError, IndexReaderException
from sagemaker_debug_ext.store.backends.base import Backend, ObjectInfo
from sagemaker_debug_ext.store.index import IndexFile, Location
from sagemaker_debug_ext.store.keys import INDEX_PREFIX
from sagemaker_debug_ext.store.messages import Array, decode_payload
from sagemaker_debug_ext.store.records import unframe


def list_index(backend: Backend) -> list[ObjectInfo]:
    """Return the index files, sorted by key; whether a name is well formed is for `keys.parse_index_key` to say."""
    return [info for info in backend.list(INDEX_PREFIX) if info.key.endswith(".json")]


def read_index(backend: Backend, key: str) -> IndexFile:
    """Read one index file.

    Raises:
        IndexReaderException: It is gone, or no index file.
    """
    content = backend.read(key)
    if content is None:
        raise IndexReaderException(f"{key}: the index file is gone")
    return IndexFile.from_json(content, key)


def read_tensor(backend: Backend, event_file: str, location: Location, name: str) -> Array:
    """Read the value of one tensor.

    Args:
        backend: Where the trial lies.
        event_file: Key of the records.
        location: Where in it the record lies.
        name: The stored name the index gives; the record must agree.

    Returns:
        A read-only array.

    Raises:
        FileNotFoundError: The event file is not there.
        CorruptRecordError: The record is not what the index says, or its bytes are damaged.
        MissingDependencyError: The dtype needs a package that is not installed.
    """
    record = backend.read(event_file, location.start, location.length)
    where = f"{event_file} at byte {location.start}"
    if record is None:
        raise FileNotFoundError(event_file)
    if len(record) != location.length:
        raise CorruptRecordError(where, f"record of {location.length} bytes is cut off after {len(record)}")
    decoded = decode_payload(unframe(record, where), where)
    if decoded.name != name:
        raise CorruptRecordError(where, f"record holds tensor {decoded.name!r}, the index says {name!r}")
    return decoded.value
