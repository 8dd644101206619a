"""The interface of back ends, which store the bytes of a trial."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends.seen import SeenVersions

Buffer: TypeAlias = bytes | bytearray | memoryview


class ObjectInfo(NamedTuple):
    """A listed object.

    `version` changes whenever the content may have changed. `modified_at` is the time of writing, in seconds since the
    epoch by the back end's clock; 0 if unknown. `md5` is the checksum of the content in hexadecimal digits, if the back
    end gives it without reading.
    """

    key: str
    size: int
    version: str
    modified_at: float = 0.0
    md5: str = ""


class ByteRange(NamedTuple):
    """Part of an object; a `length` of None means to the end of the object."""

    key: str
    start: int = 0
    length: int | None = None


class Changes(NamedTuple):
    """New and changed objects below a prefix, sorted by key.

    `is_snapshot` is True if no object can be missing that existed when the look began or that is older than a listed
    object.
    """

    objects: list[ObjectInfo]
    is_snapshot: bool


class Backend(abc.ABC):
    """A store of objects, which are bytes under keys below one root.

    Keys are relative and joined by ``/``. Several processes may use the same root, each writing keys of its own.
    Implementations must make `write` atomic, so that `list`, `read` and `exists` only show complete objects. A missing
    object is a return value, not an error. Methods may be called from several threads.
    """

    url: str
    """The root, as shown in messages."""

    is_remote: ClassVar[bool] = False
    """Whether requests are slow or cost money, so that few large requests are better than many small ones."""

    cache_key: str | None = None
    """Permanent identifier of the root on this machine; None if its content must not be cached on disk."""

    @abc.abstractmethod
    def list(self, prefix: str = "") -> list[ObjectInfo]:
        """Return the objects whose keys start with `prefix` (a folder name that ends in ``/``), sorted by key."""

    @abc.abstractmethod
    def read(self, key: str, start: int = 0, length: int | None = None) -> Buffer | None:
        """Return at most `length` bytes from `start` on; None if the object does not exist.

        The result is shorter if the object ends earlier.
        """

    @abc.abstractmethod
    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        """Write the concatenated parts as one object, atomically, replacing an earlier one."""

    @abc.abstractmethod
    def create(self, key: str, content: bytes = b"") -> bool:
        """Create an object, atomically with its content; return False if the object exists already."""

    @abc.abstractmethod
    def exists(self, key: str) -> bool:
        """Return whether an object exists."""

    @abc.abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""

    def age_seconds(self, key: str) -> float | None:  # noqa: ARG002 - used by back ends that know it
        """Return the time since an object was written; None if it is unknown, or if there is no such object.

        Both times are those of the back end, so that the clocks of whoever writes and reads do not matter.
        """
        return None

    def is_gone(self) -> bool:
        """Return whether the place of all objects is not there, so that none of them can come; False if unknown."""
        return False

    def read_many(self, ranges: Iterable[ByteRange]) -> Sequence[Buffer | OSError | None]:
        """Return the result of `read` for each range, in order; errors are returned instead of raised."""
        return [self._read_or_fail(byte_range) for byte_range in ranges]

    def _read_or_fail(self, wanted: ByteRange) -> Buffer | OSError | None:
        try:
            return self.read(*wanted)
        except OSError as error:
            return error

    def read_aligned(
        self,
        key: str,
        start: int,
        length: int,
        find_content: Callable[[Buffer], int | None],  # noqa: ARG002 - used by back ends that can align the content
    ) -> Buffer | None:
        """Return the same bytes as `read`, for a large range with an array in it.

        Args:
            key: The object.
            start: Start of the range.
            length: Length of the range.
            find_content: Returns the offset of the array in the range, from the first bytes of the range. Back ends
                that can do so without another copy align the array in memory for every dtype.
        """
        return self.read(key, start, length)

    def read_into(self, key: str, start: int, targets: Sequence[memoryview]) -> int:
        """Read one range into consecutive buffers; return the number of bytes read.

        Args:
            key: The object; nothing is read if it does not exist.
            start: Start of the range.
            targets: The buffers; their total size is the length of the range.
        """
        content = memoryview(self.read(key, start, sum(map(len, targets))) or b"")
        at = 0
        for target in targets:
            part = content[at : at + len(target)]
            target[: len(part)] = part
            at += len(part)
        return at

    def watch(self, prefix: str) -> Watch:
        """Return a watch that reports, at each look, the new and changed objects below `prefix`."""
        return Watch(self, prefix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class Watch:
    """Reports the objects below a prefix that are new or have changed since the last look. Callers must hold a lock.

    Args:
        backend: The back end to list.
        prefix: A folder name that ends in ``/``.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._prefix = prefix
        self._seen: dict[str, SeenVersions] = {}
        self._unsettled: set[str] = set()

    def look(self, settled: str = "") -> Changes:
        """Return the new and changed objects.

        Args:
            settled: Keys up to this one need not be checked at every look; if they change nevertheless, a later look
                finds them.
        """
        return Changes(self._take_in(self._backend.list(self._prefix), settled), is_snapshot=True)

    def look_at_all(self) -> Changes:
        """Return the new and changed objects after checking every object, including settled ones."""
        return self.look()

    def forget(self, key: str) -> None:
        """Report an object again at the next look."""
        folder, _, name = key.rpartition("/")
        if folder in self._seen:
            self._seen[folder].forget(name)

    def _take_in(self, found: Iterable[ObjectInfo], settled: str = "") -> list[ObjectInfo]:
        """Return the objects that are new or have changed, and settle the folders before that of `settled`."""
        changed = [info for info in found if self._is_news(info)]
        last = settled.rpartition("/")[0]
        for folder in [folder for folder in self._unsettled if folder < last]:
            self._seen[folder].settle()
            self._unsettled.remove(folder)
        return changed

    def _is_news(self, info: ObjectInfo) -> bool:
        folder, _, name = info.key.rpartition("/")
        seen = self._seen.get(folder)
        if seen is None:
            seen = self._seen[folder] = SeenVersions()
        is_news = seen.update(name, info.version)
        if is_news:
            self._unsettled.add(folder)
        return is_news


def check_key(key: str) -> str:
    """Return `key` if it stays below the root.

    Raises:
        SMDebugValueError: The key is empty or absolute, or contains ``..``.
    """
    if not key or key.startswith("/") or "\\" in key or "\0" in key or ".." in key.split("/"):
        raise SMDebugValueError(f"a key must be a relative path without '..' (got {key!r})")
    return key
