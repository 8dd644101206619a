"""Tar archives as SageMaker uses them: for the user's code, the model and the output."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from sagemaker_debug_ext.errors import SMDebugValueError


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

    Raises:
        SMDebugValueError: The archive is damaged, or a member would be outside `target` or is not a plain file or
            folder. In the latter cases nothing has been unpacked.
    """
    try:
        with tarfile.open(archive) as tar:
            members = [(member, _safe_name(archive, member)) for member in tar]
            _read_to_end(tar)
            for member, name in members:
                _unpack_member(tar, member, target / name)
    except (tarfile.TarError, EOFError, KeyError, gzip.BadGzipFile, zlib.error) as error:
        raise SMDebugValueError(f"archive {str(archive)!r} cannot be unpacked: {error}") from error


def _read_to_end(tar: tarfile.TarFile) -> None:
    """Read to the end of the file, because a truncated archive is detected only there."""
    assert tar.fileobj is not None
    while tar.fileobj.read(1 << 20):
        pass


def _safe_name(archive: Path, member: tarfile.TarInfo) -> PurePosixPath:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        raise SMDebugValueError(f"archive {str(archive)!r} holds {member.name!r}, which would lie outside its folder")
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise SMDebugValueError(f"archive {str(archive)!r} holds {member.name!r}, which is neither a file nor a folder")
    return name


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    content = tar.extractfile(member)  # for a link: its target in the archive; KeyError if the target is elsewhere
    if content is None:
        raise tarfile.ExtractError(f"{member.name!r} is a link to something that is not a file of the archive")
    path.parent.mkdir(parents=True, exist_ok=True)
    with content, path.open("wb") as file:
        shutil.copyfileobj(content, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
