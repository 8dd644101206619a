"""A back end in a folder of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from sagemaker_debug_ext.store.backends.base import Backend, Buffer, Changes, ObjectInfo, Watch, check_key
from sagemaker_debug_ext.store.backends.fileio import (
    create_anew,
    create_file,
    read_exactly,
    read_scattered,
    removed_at_end,
    renamed_at_end,
    write_gathered,
)
from sagemaker_debug_ext.store.backends.folders import OpenFolder, is_file
from sagemaker_debug_ext.store.backends.seen import SeenVersions

_TEMPORARY_SUFFIX: Final = ".tmp"
_MISSING: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO)

_NOT_PLAIN: Final = (errno.EISDIR, errno.ESPIPE)

_MAX_PLAIN_FOLDERS: Final = 4096
"""Cache size for folders known not to be links; every step has one."""

_NO_FOLDER: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Links are not followed, and opening a pipe does not block."""

_SMALL_BYTES: Final = 64 << 10
"""Up to this size, memory is allocated as requested, without checking the size of the file."""

_MOST_START: Final = 1 << 62
"""Largest file offset of the system."""

_ALIGNMENT: Final = 64
_HEAD_BYTES: Final = 1 << 12
"""Bytes that are searched for the start of a record's content; longer names cost a copy."""

_FINE_CLOCK_NS: Final = 20_000_000
_COARSE_CLOCK_NS: Final = 2_100_000_000
"""Minimum age of a folder's time that proves that nothing was added since: one tick of the file system's clock."""

_NUM_RECENT: Final = 16

_FEW_FOLDERS: Final = 16
"""Maximum number of folders whose times are read at every look."""

_LOOK_ANYWAY_NS: Final = 30_000_000_000
"""Interval at which folders are read whatever their time, because some file systems update it unreliably."""


class LocalBackend(Backend):
    """Objects are files below a folder.

    A file is written under a temporary name next to its final path and renamed when complete. Names of incomplete files
    end in ``.tmp`` and are never listed. Files are not synchronised to disk: files of a killed *process* stay complete,
    but a crash of the machine may lose the last seconds.

    The folder itself may be a link. Links below it, and all objects other than plain files, are ignored by readers and
    refused by writers. A trial therefore cannot make a process read, wait for, change or delete anything outside of the
    folder.

    Args:
        root: The folder; it need not exist before the first write.
    """

    hidden_suffixes: ClassVar[tuple[str, ...]] = (_TEMPORARY_SUFFIX,)
    """Files whose names end with one of these are not listed."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).expanduser().absolute()
        self.url = str(self.root)
        self.cache_key = f"file:{os.path.realpath(self.root)}"
        self._plain_folders = {""}

    def _path(self, key: str) -> str:
        return f"{self.url}/{check_key(key)}"

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        folder, _, start = prefix.rpartition("/")
        if not self._is_plain(folder):
            return []
        base = self._path(folder) if folder else self.url
        return sorted(_walk(base, f"{folder}/" if folder else "", start, self.hidden_suffixes))

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        if length is not None and 0 <= length <= _SMALL_BYTES and 0 <= start <= _MOST_START:
            return self._read_small(key, start, length)
        opened = self._open(key)
        if opened is None:
            return None
        descriptor, size = opened
        try:
            # A damaged index may ask for any length, so the size of the file bounds the allocation.
            available = max(size - start, 0)
            wanted = available if length is None else min(length, available)
            return read_exactly(descriptor, start, wanted)
        finally:
            os.close(descriptor)

    def _read_small(self, key: str, start: int, length: int) -> bytes | None:
        """Read without checking the kind of file, because reading a folder or pipe raises."""
        descriptor = self._open_any(key)
        if descriptor is None:
            return None
        try:
            return read_exactly(descriptor, start, length)
        except OSError as error:
            if error.errno in _NOT_PLAIN:
                return None
            raise
        finally:
            os.close(descriptor)

    def read_aligned(
        self, key: str, start: int, length: int, find_content: Callable[[Buffer], int | None]
    ) -> Buffer | None:
        opened = self._open(key)
        if opened is None:
            return None
        descriptor, size = opened
        try:
            wanted = min(length, max(size - start, 0))
            content = find_content(os.pread(descriptor, min(wanted, _HEAD_BYTES), start)) or 0
            # NumPy allocates large pages, so reading into its memory is several times as fast as into bytes
            room = np.empty(wanted + _ALIGNMENT, np.uint8)
            lead = -(room.ctypes.data + content) % _ALIGNMENT
            target = room[lead : lead + wanted].data
            return target[: read_scattered(descriptor, start, [target])]
        finally:
            os.close(descriptor)

    def read_into(self, key: str, start: int, targets: Sequence[memoryview]) -> int:
        opened = self._open(key)
        if opened is None:
            return 0
        descriptor, _ = opened
        try:
            return read_scattered(descriptor, start, targets)
        finally:
            os.close(descriptor)

    def watch(self, prefix: str) -> Watch:
        return _LocalWatch(self, prefix)

    def _open(self, key: str) -> tuple[int, int] | None:
        """Open a plain file of the trial and return descriptor and size; None if there is none."""
        descriptor = self._open_any(key)
        if descriptor is None:
            return None
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return descriptor, status.st_size
        os.close(descriptor)
        return None

    def _open_any(self, key: str) -> int | None:
        """Open an object of any kind below the root; None if it does not exist or its path has a link."""
        path = self._path(key)
        folder = key.rpartition("/")[0]
        if folder not in self._plain_folders and not self._find_plain(folder):
            return None
        try:
            return os.open(path, _READ_FLAGS)
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise

    def _is_plain(self, folder: str) -> bool:
        """Return whether the path of a folder below the root has no link; caches positive results."""
        return folder in self._plain_folders or self._find_plain(folder)

    def _find_plain(self, folder: str) -> bool:
        path = ""
        for name in folder.split("/"):
            path = f"{path}/{name}" if path else name
            if path in self._plain_folders:
                continue
            try:
                is_plain = stat.S_ISDIR(os.lstat(f"{self.url}/{path}").st_mode)
            except OSError:  # missing or not readable: opening the file raises
                return True
            if not is_plain:
                return False
            if len(self._plain_folders) >= _MAX_PLAIN_FOLDERS:
                self._plain_folders = {""}
            self._plain_folders.add(path)
        return True

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        folder, _, name = check_key(key).rpartition("/")
        temporary = name + _TEMPORARY_SUFFIX
        with OpenFolder(self.url, folder, create=True) as place:
            descriptor = create_anew(temporary, place)
            with renamed_at_end(temporary, name, place):
                try:
                    write_gathered(descriptor, 0, parts)
                finally:
                    os.close(descriptor)

    def link(self, key: str, path: str | os.PathLike[str]) -> bool:
        """Add an existing file under a second name instead of copying it; an object of that key is replaced.

        Args:
            key: The object's key.
            path: A plain file. It must not be changed in place afterwards, because the object would change with it.

        Returns:
            Whether the file was linked. It is not on another file system, or on one without links; copy it then.
        """
        folder, _, name = check_key(key).rpartition("/")
        temporary = name + _TEMPORARY_SUFFIX
        try:
            with OpenFolder(self.url, folder, create=True) as place:
                os.link(path, temporary, dst_dir_fd=place, follow_symlinks=False)
                with removed_at_end(temporary, place):  # replacing a link to the same file leaves both names
                    if not is_file(temporary, place):
                        return False
                    os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
        except OSError:
            return False
        return True

    def create(self, key: str, content: bytes = b"") -> bool:
        folder, _, name = check_key(key).rpartition("/")
        with OpenFolder(self.url, folder, create=True) as place:
            try:
                if content:
                    _create_whole(name, content, place)
                else:
                    os.close(create_file(name, place))
            except FileExistsError as error:
                with contextlib.suppress(FileNotFoundError):  # removed in the meantime
                    if not is_file(name, place):
                        raise FileExistsError(
                            errno.EEXIST, "a link or a folder is in the way of a file; remove it", name
                        ) from error
                return False
        return True

    def exists(self, key: str) -> bool:
        folder, _, name = check_key(key).rpartition("/")
        try:
            with OpenFolder(self.url, folder) as place:
                return is_file(name, place)
        except OSError:
            return False

    def age_seconds(self, key: str) -> float | None:
        try:
            return time.time() - os.stat(f"{self.url}/{check_key(key)}").st_mtime
        except OSError:
            return None

    def is_gone(self) -> bool:
        return not os.path.isdir(self.url)

    def delete(self, key: str) -> None:
        folder, _, name = check_key(key).rpartition("/")
        # A link does not count as a folder, so what it points to is not touched.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), OpenFolder(self.url, folder) as place:
            os.unlink(name, dir_fd=place)


def _create_whole(name: str, content: bytes, folder: int) -> None:
    """Create a file with its content by linking it to its name when it is complete.

    Raises:
        FileExistsError: There is a file, a folder or a link of that name.
    """
    temporary = f"{name}.{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}"  # others may create the same object now
    descriptor = create_file(temporary, folder)
    with removed_at_end(temporary, folder):
        try:
            write_gathered(descriptor, 0, (content,))
        finally:
            os.close(descriptor)
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)


def _walk(root: str, key_prefix: str, name_prefix: str, hidden_suffixes: tuple[str, ...]) -> Iterator[ObjectInfo]:
    """Yield the files below a folder; its own entries only if their names start with `name_prefix`."""
    folders = [(root, key_prefix)]
    while folders:
        folder, prefix = folders.pop()
        for entry in _entries(folder):
            if entry.name.endswith(hidden_suffixes) or not (folder != root or entry.name.startswith(name_prefix)):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, f"{prefix}{entry.name}/"))
            elif entry.is_file(follow_symlinks=False):
                info = _info(entry, prefix)
                if info is not None:
                    yield info


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder; none if it is gone, or nested so deeply that no path leads to it."""
    try:
        entries = os.scandir(folder)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            return
        raise
    with entries:
        yield from entries


def _info(entry: os.DirEntry[str], key_prefix: str) -> ObjectInfo | None:
    try:
        return _describe(key_prefix + entry.name, entry.stat(follow_symlinks=False))
    except FileNotFoundError:  # replaced or removed since the folder was read
        return None


def _describe(key: str, status: os.stat_result) -> ObjectInfo:
    version = f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
    return ObjectInfo(key, status.st_size, version, status.st_mtime)


class _Folder:
    """State of one folder at the last look: inode and version of each file by name, and its folders.

    A settled folder has no inodes, so that all its files are checked if it is read again.
    """

    __slots__ = ("changed_at_ns", "folders", "looked_at_ns", "numbers", "recent", "versions")

    def __init__(self) -> None:
        self.changed_at_ns = -1
        self.looked_at_ns = -1
        self.numbers: dict[str, int] = {}
        self.versions = SeenVersions()
        self.folders: list[str] = []
        self.recent: deque[str] = deque(maxlen=_NUM_RECENT)

    def settle(self) -> None:
        """Remember little, because the folder will hardly ever change."""
        self.numbers.clear()
        self.recent.clear()
        self.versions.settle()

    def may_have_changed(self, changed_at_ns: int, now_ns: int) -> bool:
        """Return whether a file may have been added, removed or replaced since the last look, by the folder's time."""
        if changed_at_ns != self.changed_at_ns or now_ns - self.looked_at_ns > _LOOK_ANYWAY_NS:
            return True
        return not self.was_still()

    def was_still(self) -> bool:
        """Return whether the folder was unchanged for so long at the last look that a later change alters its time."""
        is_coarse = self.changed_at_ns % 1_000_000 == 0
        return self.looked_at_ns - self.changed_at_ns >= (_COARSE_CLOCK_NS if is_coarse else _FINE_CLOCK_NS)


class _LocalWatch(Watch):
    """Reads only folders whose time has changed, and only files that are new or may have been replaced.

    A file is replaced by renaming another file onto it, which changes the inode of its name. If a file is removed
    first, the new file may get the same inode. The newest files are therefore checked as well, because they are most
    likely to be rewritten. The others are checked when all objects are.
    """

    def __init__(self, backend: LocalBackend, prefix: str) -> None:
        super().__init__(backend, prefix)
        self._root = backend.url
        self._folders: dict[str, _Folder] = {}

    def look(self, settled: str = "") -> Changes:
        return self._look(settled.rpartition("/")[0], thoroughly=False)

    def look_at_all(self) -> Changes:
        return self._look("", thoroughly=True)

    def forget(self, key: str) -> None:
        folder, _, name = key.rpartition("/")
        if folder in self._folders:
            self._folders[folder].numbers.pop(name, None)
            self._folders[folder].versions.forget(name)
            self._folders[folder].changed_at_ns = -1

    def _look(self, settled: str, thoroughly: bool) -> Changes:
        """Return the changes; folders that sort before `settled` need little memory, and no look if there are many."""
        found: list[ObjectInfo] = []
        begin = settled if len(self._folders) > _FEW_FOLDERS else ""
        self._look_into(self._prefix.rstrip("/"), found, begin, thoroughly)
        for key in [key for key in self._unsettled if key < settled]:
            self._folders[key].settle()
            self._unsettled.remove(key)
        return Changes(sorted(found), is_snapshot=not found or self._is_still())

    def _look_into(self, top: str, found: list[ObjectInfo], begin: str, thoroughly: bool) -> None:
        """Look into a folder and the folders below it, except those that sort before `begin`."""
        keys = [top]
        while keys:
            key = keys.pop()
            try:
                folder = self._look_at(key, found, thoroughly)
            except OSError as error:
                if error.errno not in _NO_FOLDER:
                    raise
                self._forget_folder(key)
                continue
            if folder is None:
                continue
            keys += [f"{key}/{name}" for name in reversed(folder.folders) if f"{key}/{name}" >= begin]

    def _look_at(self, key: str, found: list[ObjectInfo], thoroughly: bool) -> _Folder | None:
        """Look for changes in one folder and return it; None if there is something else in its place."""
        path = f"{self._root}/{key}"
        now_ns = time.time_ns()
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            return None
        folder = self._folders.setdefault(key, _Folder())
        if thoroughly or folder.may_have_changed(status.st_mtime_ns, now_ns):
            num_found = len(found)
            self._read(path, key, folder, found, thoroughly)
            if len(found) > num_found:
                self._unsettled.add(key)
            folder.changed_at_ns, folder.looked_at_ns = status.st_mtime_ns, now_ns
        return folder

    def _forget_folder(self, key: str) -> None:
        """Forget a folder that is gone, and all below it."""
        for gone in [name for name in self._folders if f"{name}/".startswith(f"{key}/")]:
            del self._folders[gone]
            self._unsettled.discard(gone)

    def _is_still(self) -> bool:
        """Return whether no folder has changed since before it was read.

        A folder is not read at one instant, so a file may be missing although a newer file is listed, in this folder or
        in another one.
        """
        if len(self._folders) > _FEW_FOLDERS or not all(folder.was_still() for folder in self._folders.values()):
            return False
        try:
            return all(
                os.lstat(f"{self._root}/{key}").st_mtime_ns == folder.changed_at_ns
                for key, folder in self._folders.items()
            )
        except OSError:
            return False

    @staticmethod
    def _read(path: str, key: str, folder: _Folder, found: list[ObjectInfo], thoroughly: bool) -> None:
        """Add the new and changed files of one folder to `found`."""
        numbers, versions = folder.numbers, folder.versions
        with os.scandir(path) as entries:
            others = [entry for entry in entries if thoroughly or numbers.get(entry.name) != entry.inode()]
        folders = {entry.name for entry in others if entry.is_dir(follow_symlinks=False)}
        inodes = {
            entry.name: entry.inode()
            for entry in others
            if entry.name not in folders
            and not entry.name.endswith(_TEMPORARY_SUFFIX)
            and entry.is_file(follow_symlinks=False)
        }
        news: list[ObjectInfo] = []
        for name in {**inodes, **dict.fromkeys(folder.recent)}:
            with contextlib.suppress(FileNotFoundError):
                news.append(_describe(f"{key}/{name}", os.lstat(f"{path}/{name}")))
        for info in sorted(news):
            name = info.key.rpartition("/")[2]
            is_news = versions.update(name, info.version)
            if name in inodes and (is_news or name in numbers):
                numbers[name] = inodes[name]
            if is_news:
                if name not in folder.recent:
                    folder.recent.append(name)
                found.append(info)
        folder.folders = sorted(folders)
