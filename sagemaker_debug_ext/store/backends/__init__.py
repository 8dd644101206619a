"""Where a trial's bytes lie: one small interface, and the places behind it."""

from __future__ import annotations

import os

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ObjectInfo
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.backends.memory import MemoryBackend

__all__ = ["Backend", "Buffer", "LocalBackend", "MemoryBackend", "ObjectInfo", "open_backend"]


def open_backend(path: str | os.PathLike[str]) -> Backend:
    """Return the back end for a path; blanks around it are dropped and ``~`` is expanded.

    Raises:
        SMDebugValueError: The path names a place this version cannot reach.
    """
    text = os.fspath(path).strip()
    if "://" in text:
        raise SMDebugValueError(f"path must be a folder of this machine (got {text!r})")
    return LocalBackend(text)
