"""The interface to where a trial's bytes lie."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple, TypeAlias

from sagemaker_debug_ext.errors import SMDebugValueError

Buffer: TypeAlias = bytes | bytearray | memoryview


class ObjectInfo(NamedTuple):
    """A listed object.

    `version` changes whenever its content may have. `modified_at` is when it was written, in seconds since the epoch by
    the back end's clock; 0 where that is not known. `md5` is the checksum of the content in hexadecimal digits, where
    the back end gives it without reading.
    """

    key: str
    size: int
    version: str
    modified_at: float = 0.0
    md5: str = ""


class ByteRange(NamedTuple):
    """Part of an object; None for `length` means to its end."""

    key: str
    start: int = 0
    length: int | None = None


class Changes(NamedTuple):
    """What a look at a prefix found to be new or changed, sorted by key.

    `is_snapshot` tells whether nothing that was there when the look began, and no object older than one that is
    listed, can be missing.
    """

    objects: list[ObjectInfo]
    is_snapshot: bool


class Backend(abc.ABC):
    """Bytes under keys below one root.

    Keys are relative and joined by ``/``. Several processes may use the same root, each writing keys of its own.
    Implementations must make `write` atomic, so that `list`, `read` and `exists` only ever show complete objects; an
    object that is not there is a return value, not an error. Methods may be called from several threads.
    """

    url: str
    """The root, for messages."""

    is_remote: ClassVar[bool] = False
    """Whether every request takes long or costs money, so that few large ones are better than many small ones."""

    cache_key: str | None = None
    """What names this place for as long as it exists, on this machine; None if nothing of it may be kept on disk."""

    @abc.abstractmethod
    def list(self, prefix: str = "") -> list[ObjectInfo]:
        """Return every object whose key starts with `prefix` (a folder's name with its ``/``), sorted by key."""

    @abc.abstractmethod
    def read(self, key: str, start: int = 0, length: int | None = None) -> Buffer | None:
        """Return the bytes from `start`, at most `length` of them; None if there is no such object.

        Fewer bytes come back where the object ends early.
        """

    @abc.abstractmethod
    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        """Store the parts one after the other as one object, replacing an earlier one, whole or not at all."""

    @abc.abstractmethod
    def create(self, key: str) -> bool:
        """Create an empty object; False if the key exists already."""

    @abc.abstractmethod
    def exists(self, key: str) -> bool:
        """Return whether there is such an object."""

    @abc.abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object; it is fine if there is none."""

    def read_many(self, ranges: Iterable[ByteRange]) -> Sequence[Buffer | OSError | None]:
        """Return what `read` gives for each range, in their order; a failure is returned in its place, not raised."""
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
        find_content: Callable[[Buffer], int | None],  # noqa: ARG002 - for back ends that can make use of it
    ) -> Buffer | None:
        """Return what `read` does, for large ranges with one content of interest.

        Args:
            key: The object.
            start: Where the range begins.
            length: Its length.
            find_content: Tells from the first bytes of the range where in it the content begins; back ends that can do
                so without a further copy put that place at an address that suits every type of number.
        """
        return self.read(key, start, length)

    def read_into(self, key: str, start: int, targets: Sequence[memoryview]) -> int:
        """Read one range into several places, one after the other; return how many bytes of it there were.

        Args:
            key: The object; nothing is read if it does not exist.
            start: Where the range begins.
            targets: The places; their sizes together are the length of the range.
        """
        content = memoryview(self.read(key, start, sum(map(len, targets))) or b"")
        at = 0
        for target in targets:
            part = content[at : at + len(target)]
            target[: len(part)] = part
            at += len(part)
        return at

    def watch(self, prefix: str) -> Watch:
        """Return what tells, again and again, which objects below `prefix` are new or have changed."""
        return Watch(self, prefix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class Watch:
    """Tells which objects below a prefix are new or have changed since it last looked. Not locked: its owner is.

    Args:
        backend: Where to look.
        prefix: A folder's name with its ``/``.
    """

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._prefix = prefix
        self._versions: dict[str, str] = {}

    def look(self, settled: str = "") -> Changes:  # noqa: ARG002 - for back ends where listing costs
        """Return what is new or has changed.

        Args:
            settled: Keys up to this one need not be looked at every time; those that lie before it and change
                nevertheless are found at a later look.
        """
        return Changes(self._take_in(self._backend.list(self._prefix)), is_snapshot=True)

    def look_at_all(self) -> Changes:
        """Return what is new or has changed, whatever was said to be settled, and trusting nothing but the objects."""
        return self.look()

    def forget(self, key: str) -> None:
        """Report an object again at the next look."""
        self._versions.pop(key, None)

    def _take_in(self, found: Iterable[ObjectInfo]) -> list[ObjectInfo]:
        changed = [info for info in found if self._versions.get(info.key) != info.version]
        self._versions.update((info.key, info.version) for info in changed)
        return changed


def check_key(key: str) -> str:
    """Return `key` if it stays below the root.

    Raises:
        SMDebugValueError: It is empty, absolute, or climbs up.
    """
    if not key or key.startswith("/") or "\\" in key or "\0" in key or ".." in key.split("/"):
        raise SMDebugValueError(f"a key must be a relative path without '..' (got {key!r})")
    return key
