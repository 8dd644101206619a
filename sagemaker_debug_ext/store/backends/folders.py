"""Folders below a root, opened without following links.

Each folder is opened relative to the one above it, and files are then named relative to their folder. A link is
therefore refused even if another process puts it in place at the last moment. The root itself is the user's choice and
may be, or lie below, a link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import Final

_ROOT_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
"""With `O_PATH`, which only Linux has, a folder need not be readable to be written to."""

_BELOW_FLAGS: Final = _ROOT_FLAGS | os.O_NOFOLLOW


class OpenFolder:
    """Opens a folder, so that its files can be named relative to its descriptor; closes it at the end of the block.

    Errors that leave the block name the whole path of their file.

    Args:
        root: Path of the root.
        folder: Path of the folder, relative to the root; empty for the root.
        create: Whether to create missing folders, the root included.

    Raises:
        FileNotFoundError: The folder does not exist, and `create` is False.
        NotADirectoryError: A link or a file has the name of the folder, or of one above it and below the root.
    """

    __slots__ = ("_create", "_descriptor", "_folder", "_root")

    def __init__(self, root: str, folder: str, create: bool = False) -> None:
        self._root = root
        self._folder = folder
        self._create = create

    def __enter__(self) -> int:
        self._descriptor = _open_below(self._root, self._folder, self._create)
        return self._descriptor

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        os.close(self._descriptor)
        if isinstance(error, OSError) and isinstance(error.filename, str):  # the system knows only the file's own name
            error.filename = os.path.join(self._root, self._folder, error.filename)


def _open_below(root: str, folder: str, create: bool) -> int:
    descriptor = _open_root(root, create)
    try:
        for name in filter(None, folder.split("/")):
            above, descriptor = descriptor, _open_next(descriptor, name, create)
            os.close(above)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        raise NotADirectoryError(
            errno.ENOTDIR, "a link or a file is in the way of a folder; remove it", f"{root}/{folder}"
        ) from error
    return descriptor


def _open_root(root: str, create: bool) -> int:
    try:
        return os.open(root, _ROOT_FLAGS)
    except FileNotFoundError:
        if not create:
            raise
    os.makedirs(root, exist_ok=True)
    return os.open(root, _ROOT_FLAGS)


def _open_next(descriptor: int, name: str, create: bool) -> int:
    try:
        return os.open(name, _BELOW_FLAGS, dir_fd=descriptor)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):  # another writer was faster
        os.mkdir(name, dir_fd=descriptor)
    return os.open(name, _BELOW_FLAGS, dir_fd=descriptor)


def is_file(name: str, folder: int) -> bool:
    """Return whether an entry of a folder, given by its descriptor, is a plain file.

    Raises:
        FileNotFoundError: There is no entry of that name.
    """
    return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
