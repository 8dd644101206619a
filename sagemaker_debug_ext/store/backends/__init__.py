"""Back ends that store the bytes of a trial: one small interface and its implementations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sagemaker_debug_ext._s3_urls import SCHEME, split_s3_url
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ObjectInfo
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.backends.memory import MemoryBackend

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.s3 import S3Options

__all__ = ["Backend", "Buffer", "LocalBackend", "MemoryBackend", "ObjectInfo", "open_backend"]


def open_backend(path: str | os.PathLike[str], s3: S3Options | None = None) -> Backend:
    """Return the back end for a path; surrounding whitespace is dropped and ``~`` is expanded.

    Args:
        path: A folder of this machine, or ``s3://bucket/prefix``.
        s3: How to connect to S3.

    Raises:
        SMDebugValueError: The path is of an unsupported kind.
        StorageError: There are no credentials for S3.
    """
    text = os.fspath(path).strip()
    if text.startswith(SCHEME):
        from sagemaker_debug_ext.store.backends.s3 import S3Backend  # noqa: PLC0415 - importing boto3 is slow

        return S3Backend(*split_s3_url(text), s3)
    is_meant_for_s3 = text[:3].casefold() == "s3:"  # path objects turn s3:// into s3:/
    if is_meant_for_s3 or "://" in text:
        hint = f"; did you mean {'s3://' + text[3:].lstrip('/')!r}?" if is_meant_for_s3 else ""
        raise SMDebugValueError(f"path must be a folder of this machine or s3://bucket/prefix (got {text!r}){hint}")
    return LocalBackend(text)
