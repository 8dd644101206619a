"""The files below a folder ``profiler-output``, on this machine or on S3."""

from __future__ import annotations

import abc
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext.store.backends.base import ByteRange, ObjectInfo
from sagemaker_debug_ext.store.backends.s3_urls import SCHEME, split_s3_url

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.s3 import S3Options


class ProfilerFiles(abc.ABC):
    """Lists and reads files.

    Attributes:
        path: The folder or S3 address, without a slash at the end.
    """

    def __init__(self, path: str) -> None:
        self.path = path.rstrip("/")

    @abc.abstractmethod
    def list(self, prefix: str, after: str = "") -> Sequence[ObjectInfo]:
        """Return the files whose keys start with `prefix`, which ends with a slash.

        Args:
            prefix: A folder below the path.
            after: Keys that do not sort after this one may be left out.
        """

    @abc.abstractmethod
    def read(self, keys: Iterable[str]) -> Sequence[bytes | OSError | None]:
        """Return the content of each file; None if it is gone, and the error if it cannot be read."""

    def full_path(self, key: str) -> str:
        """Return the path of a file, as messages name it."""
        return f"{self.path}/{key}"


class LocalProfilerFiles(ProfilerFiles):
    """Files of this machine, also those with names of temporary files, which hold the running minute."""

    def list(self, prefix: str, after: str = "") -> Sequence[ObjectInfo]:  # noqa: ARG002 - listing a folder is cheap
        """Return the files below a folder; see `ProfilerFiles.list`."""
        found = []
        for folder, _, names in os.walk(os.path.join(self.path, prefix)):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:  # removed or renamed since the folder was read
                    continue
                version = f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
                key = os.path.relpath(path, self.path).replace(os.sep, "/")
                found.append(ObjectInfo(key, status.st_size, version, status.st_mtime))
        return found

    def read(self, keys: Iterable[str]) -> Sequence[bytes | OSError | None]:
        """Return the content of each file; see `ProfilerFiles.read`."""
        return [self._read_one(key) for key in keys]

    def _read_one(self, key: str) -> bytes | OSError | None:
        try:
            with open(os.path.join(self.path, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            return error


class S3ProfilerFiles(ProfilerFiles):
    """Files on S3, read in parallel."""

    def __init__(self, path: str, options: S3Options | None = None) -> None:
        from sagemaker_debug_ext.store.backends.s3 import S3Backend  # noqa: PLC0415 - importing boto3 is slow

        super().__init__(path)
        self._backend = S3Backend(*split_s3_url(self.path), options)

    def list(self, prefix: str, after: str = "") -> Sequence[ObjectInfo]:
        """Return the objects below a prefix; see `ProfilerFiles.list`."""
        return [info for page in self._backend.list_pages(prefix, after) for info in page]

    def read(self, keys: Iterable[str]) -> Sequence[bytes | OSError | None]:
        """Return the content of each object; see `ProfilerFiles.read`."""
        found = self._backend.read_many([ByteRange(key, 0, None) for key in keys])
        return [bytes(content) if isinstance(content, (bytes, memoryview, bytearray)) else content for content in found]


def open_files(path: str | os.PathLike[str]) -> ProfilerFiles:
    """Return access to a folder ``profiler-output``.

    Args:
        path: The folder, or its address ``s3://bucket/prefix``.
    """
    text = os.fspath(path)
    return S3ProfilerFiles(text) if text.startswith(SCHEME) else LocalProfilerFiles(text)
