"""The interface to where a trial's bytes lie."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sagemaker_debug_ext.errors import SMDebugValueError

Buffer: TypeAlias = bytes | bytearray | memoryview


class ObjectInfo(NamedTuple):
    """A listed object; `version` changes whenever its content may have."""

    key: str
    size: int
    version: str


class Backend(abc.ABC):
    """Bytes under keys below one root.

    Keys are relative and joined by ``/``. Several processes may use the same root, each writing keys of its own.
    Implementations must make `write` atomic, so that `list`, `read` and `exists` only ever show complete objects; an
    object that is not there is a return value, not an error. Methods may be called from several threads.
    """

    url: str
    """The root, for messages."""

    @abc.abstractmethod
    def list(self, prefix: str = "") -> list[ObjectInfo]:
        """Return every object whose key starts with `prefix` (a folder's name with its ``/``), sorted by key."""

    @abc.abstractmethod
    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
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
        """Tell whether there is such an object."""

    @abc.abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object; it is fine if there is none."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def check_key(key: str) -> str:
    """Return `key` if it stays below the root.

    Raises:
        SMDebugValueError: It is empty, absolute, or climbs up.
    """
    if not key or key.startswith("/") or "\\" in key or "\0" in key or ".." in key.split("/"):
        raise SMDebugValueError(f"a key must be a relative path without '..' (got {key!r})")
    return key
