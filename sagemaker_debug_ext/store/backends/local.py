"""Trials in a folder of this machine."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from sagemaker_debug_ext.store.backends.base import Backend, Buffer, Changes, ObjectInfo, Watch, check_key
from sagemaker_debug_ext.store.backends.fileio import read_exactly, read_scattered, renamed_at_end, write_gathered

_TEMPORARY_SUFFIX: Final = ".tmp"
_MISSING: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO)

_NOT_PLAIN: Final = (errno.EISDIR, errno.ESPIPE)

_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Links are not followed, and a pipe under a file's name does not hold the reader up."""

_SMALL_BYTES: Final = 64 << 10
"""Up to this size memory is allocated on the word of whoever asks, without looking at the size of the file."""

_MOST_START: Final = 1 << 62
"""Beyond this the system knows no places."""

_ALIGNMENT: Final = 64
_HEAD_BYTES: Final = 1 << 12
"""Where the content of a record begins; only the longest names put it further back, which costs a copy."""

_FINE_CLOCK_NS: Final = 20_000_000
_COARSE_CLOCK_NS: Final = 2_100_000_000
"""How old a folder's time must be to prove that nothing has come since: more than a tick of the file system's clock."""

_NUM_RECENT: Final = 16

_FEW_FOLDERS: Final = 16
"""How many folders may be asked for their times at every look."""

_LOOK_ANYWAY_NS: Final = 30_000_000_000
"""Folders are looked at this often whatever their time says, for file systems that keep it badly."""


class LocalBackend(Backend):
    """Objects are files below a folder.

    A file is written under a temporary name beside its final place and renamed when complete; the names of half-written
    files end in ``.tmp`` and are never listed. Files are not synchronised to the disk: what a killed *process* wrote
    stays whole, a crash of the machine may lose the last seconds.

    The folder itself may be a link. Links below it are passed over, and so is everything that is no plain file: what a
    trial holds cannot make a reader open, or wait for, anything outside of it.

    Args:
        root: The folder; it need not exist before the first write.
    """

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
        return sorted(_walk(base, f"{folder}/" if folder else "", start))

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes | None:
        if length is not None and 0 <= length <= _SMALL_BYTES and 0 <= start <= _MOST_START:
            return self._read_small(key, start, length)
        opened = self._open(key)
        if opened is None:
            return None
        descriptor, size = opened
        try:
            # The file's own size bounds what is allocated, whatever a damaged index asks for.
            available = max(size - start, 0)
            wanted = available if length is None else min(length, available)
            return read_exactly(descriptor, start, wanted)
        finally:
            os.close(descriptor)

    def _read_small(self, key: str, start: int, length: int) -> bytes | None:
        """Read without asking what kind of file it is: folders and pipes say so when they are read."""
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
            # numpy's memory comes in large pages, which makes reading into it several times as fast as into bytes
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
        """Open a plain file of the trial, and return its size as well; None if there is none."""
        descriptor = self._open_any(key)
        if descriptor is None:
            return None
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return descriptor, status.st_size
        os.close(descriptor)
        return None

    def _open_any(self, key: str) -> int | None:
        """Open what has the name of a file of the trial; None if there is nothing, or a link on the way."""
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
        """Return whether a folder below the root is reached without a link; looked up once for each that is."""
        return folder in self._plain_folders or self._find_plain(folder)

    def _find_plain(self, folder: str) -> bool:
        if not self._is_plain(folder.rpartition("/")[0]):
            return False
        try:
            is_plain = stat.S_ISDIR(os.lstat(f"{self.url}/{folder}").st_mode)
        except OSError:  # not there, or not ours to see: opening the file says so
            return True
        if is_plain:
            self._plain_folders.add(folder)
        return is_plain

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        path = self._path(key)
        temporary = path + _TEMPORARY_SUFFIX
        descriptor = _open_new(temporary)
        with renamed_at_end(temporary, path):
            try:
                write_gathered(descriptor, 0, parts)
            finally:
                os.close(descriptor)

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
            elif entry.is_file(follow_symlinks=False):
                info = _info(entry, key_prefix)
                if info is not None:
                    yield info


def _info(entry: os.DirEntry[str], key_prefix: str) -> ObjectInfo | None:
    try:
        return _describe(key_prefix + entry.name, entry.stat(follow_symlinks=False))
    except FileNotFoundError:  # replaced or removed since the folder was read
        return None


def _describe(key: str, status: os.stat_result) -> ObjectInfo:
    version = f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
    return ObjectInfo(key, status.st_size, version, status.st_mtime)


class _Folder:
    """What was seen of one folder: number and version of each file by name, and which folders it holds."""

    __slots__ = ("changed_at_ns", "folders", "looked_at_ns", "numbers", "recent", "versions")

    def __init__(self) -> None:
        self.changed_at_ns = -1
        self.looked_at_ns = -1
        self.numbers: dict[str, int] = {}
        self.versions: dict[str, str] = {}
        self.folders: list[str] = []
        self.recent: deque[str] = deque(maxlen=_NUM_RECENT)

    def may_have_changed(self, changed_at_ns: int, now_ns: int) -> bool:
        """Return whether a file may have been added, removed or replaced since the last look, by the folder's time."""
        if changed_at_ns != self.changed_at_ns or now_ns - self.looked_at_ns > _LOOK_ANYWAY_NS:
            return True
        return not self.was_still()

    def was_still(self) -> bool:
        """Return whether the folder was unchanged at the last look for long enough that a later change would show."""
        is_coarse = self.changed_at_ns % 1_000_000 == 0
        return self.looked_at_ns - self.changed_at_ns >= (_COARSE_CLOCK_NS if is_coarse else _FINE_CLOCK_NS)


class _LocalWatch(Watch):
    """Looks only into folders whose time has changed, and only at files that are new or may have been replaced.

    A file is replaced by renaming another one onto it, which gives its name another file number. One that was removed
    first may get its number back, so if nothing else explains why a folder has changed, those that came last, the
    likeliest to be written again, are looked at, and the others when everything is.
    """

    def __init__(self, backend: LocalBackend, prefix: str) -> None:
        super().__init__(backend, prefix)
        self._root = backend.url
        self._folders: dict[str, _Folder] = {}

    def look(self, settled: str = "") -> Changes:
        return self._look(settled.rpartition("/")[0] if len(self._folders) > _FEW_FOLDERS else "", thoroughly=False)

    def look_at_all(self) -> Changes:
        return self._look("", thoroughly=True)

    def forget(self, key: str) -> None:
        folder, _, name = key.rpartition("/")
        if folder in self._folders:
            self._folders[folder].numbers.pop(name, None)
            self._folders[folder].versions.pop(name, None)
            self._folders[folder].changed_at_ns = -1

    def _look(self, begin: str, thoroughly: bool) -> Changes:
        found: list[ObjectInfo] = []
        self._look_into(self._prefix.rstrip("/"), found, begin, thoroughly)
        return Changes(sorted(found), is_snapshot=not found or self._is_still())

    def _look_into(self, key: str, found: list[ObjectInfo], begin: str, thoroughly: bool) -> None:
        """Look into a folder and those below it, but for those that sort before `begin`."""
        path = f"{self._root}/{key}"
        now_ns = time.time_ns()
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            for gone in [name for name in self._folders if f"{name}/".startswith(f"{key}/")]:
                del self._folders[gone]
            return
        if not stat.S_ISDIR(status.st_mode):
            return
        folder = self._folders.setdefault(key, _Folder())
        if thoroughly or folder.may_have_changed(status.st_mtime_ns, now_ns):
            self._read(path, key, folder, found, thoroughly)
            folder.changed_at_ns, folder.looked_at_ns = status.st_mtime_ns, now_ns
        for name in folder.folders:
            if f"{key}/{name}" >= begin:
                self._look_into(f"{key}/{name}", found, begin, thoroughly)

    def _is_still(self) -> bool:
        """Return whether nothing has changed in any folder since before it was read.

        A folder is not read at one instant: a file may be missing although a younger one is listed, here or in another.
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
        """Note what is new in one folder."""
        numbers, versions = folder.numbers, folder.versions
        news: list[ObjectInfo] = []
        folders: list[str] = []
        with os.scandir(path) as entries:
            others = [entry for entry in entries if thoroughly or numbers.get(entry.name) != entry.inode()]
        for entry in others:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif not entry.name.endswith(_TEMPORARY_SUFFIX) and entry.is_file(follow_symlinks=False):
                info = _info(entry, f"{key}/")
                if info is not None:
                    numbers[entry.name] = entry.inode()
                    news.append(info)
        if not news:
            for name in folder.recent:
                with contextlib.suppress(FileNotFoundError):
                    news.append(_describe(f"{key}/{name}", os.lstat(f"{path}/{name}")))
        for info in sorted(news):
            name = info.key.rpartition("/")[2]
            if versions.get(name) != info.version:
                if name not in versions:
                    folder.recent.append(name)
                versions[name] = info.version
                found.append(info)
        folder.folders = sorted(folders)


def _open_new(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        _make_folder(os.path.dirname(path))
        return os.open(path, flags, 0o666)


def _make_folder(folder: str) -> None:
    """Make a folder; every step has one of its own, beside that of the step before."""
    try:
        os.mkdir(folder)
    except FileExistsError:  # somebody else was faster
        pass
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
