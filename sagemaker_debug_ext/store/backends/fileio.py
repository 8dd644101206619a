"""File I/O: scattered reads and gathered writes at one descriptor, and atomic writes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sagemaker_debug_ext.store.backends.base import Buffer

_MAX_PARTS_PER_CALL: Final = 1024
"""Maximum number of buffers per call on Linux and macOS."""

_MAX_BYTES_PER_CALL: Final = 1 << 19
"""Long calls are slow on virtual machines that train at the same time: each byte of calls of four megabytes and more
was measured to cost three times as much as in calls of up to one megabyte. On hardware there is no difference."""

_RESERVE_FROM_BYTES: Final = 1 << 20
_NOT_SUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


_NEW_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def create_file(path: str, folder: int | None = None) -> int:
    """Create a file and return its descriptor.

    Args:
        path: Path of the file.
        folder: Descriptor of the folder that `path` is relative to.

    Raises:
        FileExistsError: There is a file, a folder or a link of that name.
    """
    return os.open(path, _NEW_FILE_FLAGS, 0o666, dir_fd=folder)


def create_anew(path: str, folder: int | None = None) -> int:
    """Create a file, replacing a file or a link that has its name; see `create_file`.

    An interrupted process may have left a file. It is not reused, because it may be a link to another one.
    """
    try:
        return create_file(path, folder)
    except FileExistsError:
        os.unlink(path, dir_fd=folder)
        return create_file(path, folder)


@contextlib.contextmanager
def removed_at_end(path: str | os.PathLike[str], folder: int | None = None) -> Iterator[contextlib.ExitStack]:
    """Remove a file at the end of the block, after any exception too, unless the yielded stack is emptied before."""
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(_remove, path, folder)
        yield cleanup


@contextlib.contextmanager
def renamed_at_end(
    temporary: str | os.PathLike[str], path: str | os.PathLike[str], folder: int | None = None
) -> Iterator[None]:
    """Rename a file to its final path at the end of the block, replacing a file or a link of that name.

    Any exception in the block, including an interruption, removes the temporary file instead.

    Args:
        temporary: Path of the file in the block.
        path: Its final path.
        folder: Descriptor of the folder that both paths are relative to.

    Raises:
        OSError: The file cannot be renamed.
    """
    with removed_at_end(temporary, folder) as cleanup:
        yield
        os.replace(temporary, path, src_dir_fd=folder, dst_dir_fd=folder)
        cleanup.pop_all()


def atomic_write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a small file atomically: readers see either the old or the new content.

    Raises:
        OSError: The file cannot be written.
    """
    temporary = f"{os.fspath(path)}.tmp"
    descriptor = create_anew(temporary)
    with renamed_at_end(temporary, path), open(descriptor, "wb") as file:
        file.write(content)


def _remove(path: str | os.PathLike[str], folder: int | None) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path, dir_fd=folder)


def read_exactly(descriptor: int, start: int, length: int) -> bytes:
    """Return `length` bytes from `start` on, or fewer at the end of the file."""
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


def read_scattered(descriptor: int, start: int, targets: Sequence[memoryview]) -> int:
    """Fill `targets` one after the other; return the number of bytes read."""
    left = deque(targets)
    got = 0
    while left:
        count = os.preadv(descriptor, list(itertools.islice(left, _MAX_PARTS_PER_CALL)), start + got)
        if not count:
            break
        got += count
        while left and count >= len(left[0]):
            count -= len(left.popleft())
        if count:
            left[0] = left[0][count:]
    return got


def write_gathered(descriptor: int, start: int, parts: Sequence[Buffer]) -> None:
    """Write `parts` one after the other, from `start` on."""
    views = [memoryview(part).cast("B") for part in parts if len(part)]
    total = sum(map(len, views))
    if total >= _RESERVE_FROM_BYTES:
        _reserve(descriptor, start, total)
    for batch in _batches(views):
        left = batch
        while left:  # a nearly full disk accepts only part of the bytes
            written = os.pwritev(descriptor, left, start)
            start += written
            left = _without_start(left, written)


def _batches(views: Iterable[memoryview]) -> Iterator[list[memoryview]]:
    """Yield batches of the views that fit into one call each."""
    batch: list[memoryview] = []
    room = _MAX_BYTES_PER_CALL
    for view in views:
        rest = view
        while len(rest) > room:
            yield [*batch, rest[:room]]
            rest, batch, room = rest[room:], [], _MAX_BYTES_PER_CALL
        batch.append(rest)
        room -= len(rest)
        if len(batch) == _MAX_PARTS_PER_CALL:
            yield batch
            batch, room = [], _MAX_BYTES_PER_CALL
    if batch:
        yield batch


def _without_start(views: list[memoryview], num_bytes: int) -> list[memoryview]:
    for at, view in enumerate(views):
        if num_bytes < len(view):
            return [view[num_bytes:], *views[at + 1 :]]
        num_bytes -= len(view)
    return []


def _reserve(descriptor: int, start: int, num_bytes: int) -> None:
    """Reserve disk space: this is faster than growing the file, and a full disk raises before anything is written."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, start, num_bytes)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
