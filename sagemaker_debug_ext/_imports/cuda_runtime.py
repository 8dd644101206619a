"""The one function of the CUDA runtime that PyTorch does not offer to Python."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

from torch import version

_THREAD_LOCAL: Final = 1
"""`cudaStreamCaptureModeThreadLocal`: what this thread may call depends on its own recordings alone."""


@contextlib.contextmanager
def beside_recordings() -> Iterator[None]:
    """Let this thread ask for and wait for events while another thread records a CUDA graph.

    CUDA refuses such calls in all threads by default, and makes the recording invalid.
    """
    exchange = _find_exchange()
    if exchange is None:
        yield
        return
    mode = ctypes.c_int(_THREAD_LOCAL)
    exchange(ctypes.byref(mode))
    try:
        yield
    finally:
        exchange(ctypes.byref(mode))


@functools.cache
def _find_exchange() -> Callable[..., Any] | None:
    """Return the function that sets a thread's mode and gives back the earlier one; None without CUDA."""
    if version.cuda is None:
        return None
    major = int(version.cuda.partition(".")[0])
    name = f"libcudart.so.{major}" if major > 11 else "libcudart.so.11.0"
    try:
        exchange: Callable[..., Any] = ctypes.CDLL(name).cudaThreadExchangeStreamCaptureMode
    except (OSError, AttributeError):  # not Linux, or a build that holds the runtime itself
        return None
    return exchange
