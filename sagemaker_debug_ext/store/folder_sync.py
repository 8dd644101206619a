"""Copies the files of a folder to another place while they are being written."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.store.backends import Backend, Buffer, LocalBackend, ObjectInfo


class FolderSync:
    """Copies new and changed files of a folder to a back end.

    Args:
        source: The folder; it need not exist. Files whose names end in ``.tmp`` are unfinished and are skipped.
        target: Back end for the files, under their names relative to the folder.
        last: Names of files that are copied only after the job has ended, and after all others.
        is_atomic: Whether files appear complete and change as a whole, so that each is copied when it is first seen.
    """

    def __init__(self, source: Path, target: Backend, last: Collection[str] = (), *, is_atomic: bool = False) -> None:
        self.target: Final = target
        self._source = source
        self._last = last
        self._is_atomic = is_atomic
        self._listing = LocalBackend(source)
        self._shipped: dict[str, str] = {}
        self._seen: dict[str, str] = {}

    def ship(self, final: bool = False) -> list[ObjectInfo]:
        """Copy new and changed files, and return them in the order of copying.

        While the job runs, a file that does not appear complete is assumed to be finished if it has not changed since
        the previous call.

        Args:
            final: Whether the job has ended, so that all files are finished.

        Raises:
            SMDebugRuntimeError: A file cannot be copied, for example because the disk is full. Files that were copied
                before it are kept; the next call continues from there.
        """
        found = self._listing.list()
        marks = [info for info in found if info.key in self._last]
        others = [info for info in found if info.key not in self._last]
        is_certain = final or self._is_atomic
        finished = [info for info in others if is_certain or self._seen.get(info.key) == info.version]
        self._seen = {info.key: info.version for info in others}
        return self._copy([*finished, *(marks if final else ())], from_memory=not final)

    def _copy(self, found: list[ObjectInfo], from_memory: bool) -> list[ObjectInfo]:
        changed = [info for info in found if self._shipped.get(info.key) != info.version]
        return [info for info in changed if self._copy_one(info, from_memory)]

    def _copy_one(self, info: ObjectInfo, from_memory: bool) -> bool:
        path = self._source / info.key
        try:
            content = path.read_bytes() if from_memory else mapped(path)
        except (FileNotFoundError, IsADirectoryError):
            return False  # removed after it was listed, or a link to a folder
        except OSError as error:
            raise SMDebugRuntimeError(f"{str(path)!r} could not be read: {error.strerror}") from error
        write_object(self.target, info.key, [content])
        self._shipped[info.key] = info.version
        return True


def mapped(path: Path) -> bytes | memoryview:
    """Return a memory map of a file, which must not be truncated while the map is in use."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return b""
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def write_object(backend: Backend, key: str, parts: Sequence[Buffer]) -> None:
    """Write an object atomically.

    Raises:
        SMDebugRuntimeError: The object cannot be written, for example because the disk is full.
    """
    try:
        backend.write(key, parts)
    except OSError as error:
        reason = error.strerror or error
        raise SMDebugRuntimeError(f"{key!r} could not be written to {backend.url!r}: {reason}") from error
