"""Trials in a folder of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ObjectInfo, check_key
from sagemaker_debug_ext.store.messages import array_bytes

_TEMPORARY_SUFFIX: Final = ".tmp"
_RESERVE_FROM_BYTES: Final = 1 << 20
_MAX_PARTS_PER_CALL: Final = 1024  # what Linux and macOS take in one gathered write
_NOT_SUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class LocalBackend(Backend):
    """Objects are files below a folder.

    A file is written under a temporary name beside its final place and renamed when complete; the names of half-written
    files end in ``.tmp`` and are never listed. Files are not synchronised to the disk: what a killed *process* wrote
    stays whole, a crash of the machine may lose the last seconds.

    Args:
        root: The folder; it need not exist before the first write.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).expanduser().absolute()
        self.url = str(self.root)

    def _path(self, key: str) -> str:
        return os.path.join(self.root, check_key(key))

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        folder, _, start = prefix.rpartition("/")
        base = self._path(folder) if folder else self.url
        return sorted(_walk(base, f"{folder}/" if folder else "", start))

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            # The file's own size bounds what is allocated, whatever a damaged index asks for.
            available = max(os.fstat(descriptor).st_size - start, 0)
            wanted = available if length is None else min(length, available)
            return _read_exactly(descriptor, start, wanted)
        finally:
            os.close(descriptor)

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        path = self._path(key)
        temporary = path + _TEMPORARY_SUFFIX
        descriptor = _open_new(temporary)
        try:
            try:
                _write_all(descriptor, parts)
            finally:
                os.close(descriptor)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def create(self, key: str) -> bool:
        path = self._path(key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            return False
        return True

    def exists(self, key: str) -> bool:
        return os.path.isfile(self._path(key))

    def delete(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(key))


def _walk(folder: str, key_prefix: str, name_prefix: str = "") -> Iterator[ObjectInfo]:
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            if not entry.name.startswith(name_prefix) or entry.name.endswith(_TEMPORARY_SUFFIX):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, f"{key_prefix}{entry.name}/")
                continue
            try:
                status = entry.stat()
            except FileNotFoundError:  # replaced or removed since the folder was read
                continue
            yield ObjectInfo(key_prefix + entry.name, status.st_size, f"{status.st_mtime_ns}-{status.st_ino}")


def _open_new(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o666)


def _read_exactly(descriptor: int, start: int, length: int) -> bytes:
    content = os.pread(descriptor, length, start)
    if len(content) == length:
        return content
    pieces = [content]  # one call reads at most 2 GiB on Linux
    got = len(content)
    while got < length:
        piece = os.pread(descriptor, length - got, start + got)
        if not piece:
            break
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


def _write_all(descriptor: int, parts: Sequence[Buffer]) -> None:
    views = [memoryview(part) for part in parts if len(part)]
    total = sum(array_bytes(view) for view in views)
    if total >= _RESERVE_FROM_BYTES:
        _reserve(descriptor, total)
    while views:
        batch = views[:_MAX_PARTS_PER_CALL]
        written = os.writev(descriptor, batch)
        done = 0
        while done < len(batch) and written >= batch[done].nbytes:
            written -= batch[done].nbytes
            done += 1
        del views[:done]
        if written:
            views[0] = views[0][written:]


def _reserve(descriptor: int, num_bytes: int) -> None:
    """Ask for the space at once: faster than growing, and a full disk shows before anything is written."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, num_bytes)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
