"""The files below a folder ``profiler-output``, on this machine or on S3."""

from __future__ import annotations

import os

from sagemaker_debug_ext._s3_urls import SCHEME, split_s3_url
from sagemaker_debug_ext.store.backends.base import Backend, Watch
from sagemaker_debug_ext.store.backends.local import LocalBackend


class ProfilerFolder(LocalBackend):
    """A folder in which another program is writing: files grow, and temporary files hold the running minute."""

    hidden_suffixes = ()

    def watch(self, prefix: str) -> Watch:
        """Return a watch that looks at every file, because the watch of local folders misses files that grow."""
        return Watch(self, prefix)


def open_s3_files(path: str) -> Backend:
    """Return access to a folder ``profiler-output`` on S3.

    Args:
        path: Its address ``s3://bucket/prefix``.

    Raises:
        SMDebugValueError: `path` is no such address.
    """
    from sagemaker_debug_ext.store.backends.s3 import S3Backend  # noqa: PLC0415 - importing boto3 is slow

    return S3Backend(*split_s3_url(path))


def open_files(path: str | os.PathLike[str]) -> Backend:
    """Return access to a folder ``profiler-output``.

    Args:
        path: The folder, or its address ``s3://bucket/prefix``.
    """
    text = os.fspath(path)
    return open_s3_files(text) if text.startswith(SCHEME) else ProfilerFolder(text)
