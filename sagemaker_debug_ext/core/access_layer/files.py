"""Files and objects that scripts for Debugger write and read piece by piece."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from sagemaker_debug_ext.core.access_layer.s3handler import DeleteRequest, ListRequest, S3Handler
from sagemaker_debug_ext.core.utils import is_s3
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.backends.s3 import S3Backend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY

__all__ = [
    "TSAccessFile",
    "TSAccessS3",
    "delete_s3_prefixes",
    "ensure_dir",
    "file_exists",
    "get_temp_path",
    "is_first_process",
    "remove_file_if_exists",
]

SMDEBUG_TEMP_PATH_SUFFIX: Final = ".tmp"
WRITE_MODES: Final = ["w", "w+", "wb", "wb+", "a", "a+", "ab", "ab+"]


def get_temp_path(file_path: str) -> str:
    """Return the path of a file while it is written."""
    return file_path + SMDEBUG_TEMP_PATH_SUFFIX


def ensure_dir(file_path: str, is_file: bool = True) -> None:
    """Make the folder of a file, or the folder itself if the path is not that of a file."""
    Path(os.path.dirname(file_path) if is_file else file_path).mkdir(parents=True, exist_ok=True)


def remove_file_if_exists(file_path: str) -> None:
    """Delete a file of this machine, unless there is none."""
    Path(file_path).unlink(missing_ok=True)


def is_first_process(path: str, is_dir: bool = True) -> bool:
    """Return whether this call is the first one for a folder, or for a file if `is_dir` is False, on this machine.

    The file that tells the others, of which the folder's is called ``claim.smd``, is made; those of S3 are all first.
    """
    if is_s3(path)[0]:
        return True
    folder, name = (path, CLAIM_KEY) if is_dir else os.path.split(path)
    return LocalBackend(folder or os.curdir).create(name)


def file_exists(file_path: str) -> bool:
    """Return whether a file exists, or any object whose URL starts with this S3 URL."""
    is_on_s3, bucket, key = is_s3(file_path)
    if is_on_s3 and bucket:
        return bool(S3Handler.list_prefix(ListRequest(bucket, key or "")))
    return Path(file_path).exists()


def delete_s3_prefixes(bucket: str, keys: str | list[str]) -> None:
    """Delete the objects of a bucket whose keys start with one of the given keys."""
    S3Handler.delete_prefixes([DeleteRequest(bucket, key) for key in ([keys] if isinstance(keys, str) else keys)])


class _Reading:
    """Reads content piece by piece after `ingest_all`."""

    def __init__(self) -> None:
        self._content: Any = b""
        self._position = 0

    def _take_in(self, content: Any) -> None:
        self._content, self._position = content, 0

    def read(self, n: int) -> Any:
        """Return the next `n` bytes or characters.

        Raises:
            SMDebugRuntimeError: Fewer are left.
        """
        end = self._position + n
        if end > len(self._content):
            raise SMDebugRuntimeError(
                f"n must be at most {len(self._content) - self._position}, what is left (got {n})"
            )
        piece = self._content[self._position : end]
        self._position = end
        return piece

    def has_data(self) -> bool:
        """Return whether anything is left to read."""
        return self._position < len(self._content)


class TSAccessFile(_Reading):
    """A file of this machine; a written file gets its name when it is closed.

    Args:
        path: The path; its folder is made.
        mode: How the file is opened, as for `open`.
    """

    def __init__(self, path: str, mode: str) -> None:
        super().__init__()
        self.path = path
        self.mode = mode
        self._is_written = mode in WRITE_MODES
        ensure_dir(path)
        self._file: IO[Any] = Path(get_temp_path(path) if self._is_written else path).open(mode)  # noqa: SIM115 - open until close()

    def write(self, data: Any) -> list[int]:
        """Add bytes or text, as the mode says; return where it begins and its length."""
        start = self._file.tell()
        self._file.write(data)
        return [start, len(data)]

    def flush(self) -> None:
        """Flush written data to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Close the file and give it its name. Nothing happens if another process has done so."""
        self._file.close()
        unfinished = Path(get_temp_path(self.path))
        if self._is_written and unfinished.exists():
            unfinished.replace(self.path)

    def ingest_all(self) -> None:
        """Read the whole file, for `read`."""
        self._take_in(self._file.read())


class TSAccessS3(_Reading):
    """An object on S3, written when it is closed.

    Args:
        bucket_name: The bucket, which must exist.
        key_name: The key; repeated slashes are one.
        aws_access_key_id: Has no effect: credentials come from boto3's own configuration.
        aws_secret_access_key: Has no effect, likewise.
        binary: Whether bytes are written, not text.
    """

    def __init__(
        self,
        bucket_name: str,
        key_name: str,
        aws_access_key_id: str | None = None,  # noqa: ARG002 - part of the API
        aws_secret_access_key: str | None = None,  # noqa: ARG002 - likewise
        binary: bool = True,
    ) -> None:
        super().__init__()
        self.bucket_name = bucket_name
        self.key_name = re.sub("/+", "/", key_name)
        self.binary = binary
        self.flushed = False
        self._backend = S3Backend(bucket_name)
        self._pieces: list[bytes] = []
        self._length = 0

    def write(self, data: Any) -> list[int]:
        """Add bytes or text, as `binary` says; return where it begins and its length."""
        start, self._length = self._length, self._length + len(data)
        self._pieces.append(data if self.binary else data.encode())
        return [start, len(data)]

    def flush(self) -> None:
        """Do nothing: the object is written as a whole when it is closed."""

    def close(self) -> None:
        """Write the object, once."""
        if not self.flushed:
            self._backend.write(self.key_name, self._pieces)
            self._pieces, self._length, self.flushed = [], 0, True

    def ingest_all(self) -> None:
        """Read the whole object, for `read`.

        Raises:
            FileNotFoundError: There is no such object.
        """
        content = self._backend.read(self.key_name)
        if content is None:
            raise FileNotFoundError(f"s3://{self.bucket_name}/{self.key_name}")
        self._take_in(content)

    def __enter__(self) -> TSAccessS3:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
