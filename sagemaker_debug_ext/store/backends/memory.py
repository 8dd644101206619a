"""A back end in the memory of this process, for tests and for hooks that save nothing."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ObjectInfo, check_key

_NUMBERS = itertools.count(1)


class MemoryBackend(Backend):
    """Objects are entries of a dictionary."""

    def __init__(self) -> None:
        self.url = f"memory://{next(_NUMBERS)}"
        self._objects: dict[str, tuple[bytes, int]] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        with self._lock:
            found = [(key, entry) for key, entry in self._objects.items() if key.startswith(prefix)]
        return sorted(ObjectInfo(key, len(content), str(version)) for key, (content, version) in found)

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        content, _ = self._objects.get(check_key(key), (None, 0))
        if content is None:
            return None
        return content[start:] if length is None else content[start : start + length]

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        content = b"".join(parts)
        with self._lock:
            self._writes += 1
            self._objects[check_key(key)] = (content, self._writes)

    def create(self, key: str, content: bytes = b"") -> bool:
        with self._lock:
            self._writes += 1
            return self._objects.setdefault(check_key(key), (content, self._writes)) == (content, self._writes)

    def exists(self, key: str) -> bool:
        return check_key(key) in self._objects

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(check_key(key), None)
