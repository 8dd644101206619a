"""Tar archives as SageMaker uses them: for the user's code, the model and the output."""

from __future__ import annotations

import gzip
import lzma
import os
import posixpath
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from sagemaker_debug_ext.errors import SMDebugValueError

MAX_MEMBERS: Final = 100_000
MAX_BYTES: Final = 64 << 30
MAX_DEPTH: Final = 64
MAX_NAME_BYTES: Final = 2048
MAX_LINKS: Final = 16
"""Longest chain of links to a file."""

_DAMAGE: Final = (
    tarfile.TarError,
    EOFError,
    RecursionError,  # of headers that announce each other
    ValueError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
)
_NAME_TWICE: Final = (FileExistsError, IsADirectoryError, NotADirectoryError)
"""Errors of members that have the name of another member's folder."""


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file below a folder with its relative name, in a fixed order; linked folders are skipped."""
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(parent) / name
            if path.is_file():  # excludes sockets, pipes and broken links
                yield path.relative_to(folder).as_posix(), path


def pack(files: Iterable[tuple[str, Path]], output: BinaryIO) -> None:
    """Write files as a gzip-compressed tar archive that depends on their names, modes and contents only."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=output, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name, path in files:
            status = path.stat()
            member = tarfile.TarInfo(name)
            member.size = status.st_size
            member.mode = 0o755 if status.st_mode & 0o100 else 0o644
            with path.open("rb") as content:
                tar.addfile(member, content)


def unpack(archive: Path, target: Path) -> None:
    """Unpack a tar archive, compressed or not.

    Nothing is written outside `target`, and no link is created: a link to a file of the archive becomes a copy of it.
    An archive may hold at most 100,000 members, 64 folders one in the other, and 64 GiB, copies included.

    Raises:
        SMDebugValueError: The archive is damaged or too large, or a member would be outside `target` or is not a plain
            file or folder. In the latter cases nothing has been unpacked.
    """
    try:
        with tarfile.open(archive) as tar:
            members = _read_members(archive, tar)
            _read_to_end(tar)
            files = [(member, _content_of(member, members), name) for name, member in members.items()]
            _check_size(archive, [content.size for _, content, _ in files if content is not None])
            for member, content, name in files:
                _unpack_member(tar, member, content, target / name)
    except SMDebugValueError:
        raise
    except (*_DAMAGE, *_NAME_TWICE) as error:
        raise SMDebugValueError(f"archive {str(archive)!r} cannot be unpacked: {error}") from error


def _read_members(archive: Path, tar: tarfile.TarFile) -> dict[PurePosixPath, tarfile.TarInfo]:
    """Return name → member; of members of the same name, the last one counts."""
    members: dict[PurePosixPath, tarfile.TarInfo] = {}
    num_bytes = 0
    for number, member in enumerate(tar):
        if number >= MAX_MEMBERS:
            raise SMDebugValueError(f"archive {str(archive)!r} must hold at most {MAX_MEMBERS:,} members")
        num_bytes += member.size
        _check_size(archive, [num_bytes])  # before the next member is looked for, behind the content of this one
        members[_safe_name(archive, member)] = member
    return members


def _check_size(archive: Path, sizes: Iterable[int]) -> None:
    if sum(sizes) > MAX_BYTES:
        raise SMDebugValueError(f"archive {str(archive)!r} must hold at most {MAX_BYTES >> 30} GiB when unpacked")


def _read_to_end(tar: tarfile.TarFile) -> None:
    """Read to the end of the file, because a truncated archive is detected only there."""
    assert tar.fileobj is not None
    for _ in range(2 + (MAX_BYTES >> 20)):
        if not tar.fileobj.read(1 << 20):
            return
    raise tarfile.ReadError("too much follows its last member")


def _safe_name(archive: Path, member: tarfile.TarInfo) -> PurePosixPath:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        raise SMDebugValueError(f"archive {str(archive)!r} holds {member.name!r}, which would lie outside its folder")
    if len(name.parts) > MAX_DEPTH or len(os.fsencode(member.name)) > MAX_NAME_BYTES or "\0" in member.name:
        raise SMDebugValueError(
            f"archive {str(archive)!r} holds {member.name[:80]!r}..., which must have at most {MAX_DEPTH} parts and"
            f" {MAX_NAME_BYTES} bytes"
        )
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise SMDebugValueError(f"archive {str(archive)!r} holds {member.name!r}, which is neither a file nor a folder")
    return name


def _content_of(member: tarfile.TarInfo, members: Mapping[PurePosixPath, tarfile.TarInfo]) -> tarfile.TarInfo | None:
    """Return the file that a member is, or leads to by links; None for a folder."""
    at = member
    for _ in range(MAX_LINKS):
        if not (at.issym() or at.islnk()):
            break
        folder = posixpath.dirname(at.name) if at.issym() else ""
        name = PurePosixPath(posixpath.normpath(posixpath.join(folder, at.linkname)))
        if name not in members:
            raise tarfile.ExtractError(f"{member.name!r} is a link to something that is not in the archive")
        at = members[name]
    if at.isreg():
        return at
    if at is member and at.isdir():
        return None
    raise tarfile.ExtractError(f"{member.name!r} is a link to something that is not a file of the archive")


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, content: tarfile.TarInfo | None, path: Path) -> None:
    if content is None:
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(content)
    assert source is not None  # it is a file
    with source, path.open("wb") as file:
        shutil.copyfileobj(source, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
