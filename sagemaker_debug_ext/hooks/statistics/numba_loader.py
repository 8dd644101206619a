"""Loader of the compiled loops for reductions and histograms on the CPU, if Numba is installed."""

from __future__ import annotations

import functools
import importlib
import logging
from types import ModuleType
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.hooks.process.fork import fork_safe_lock
from sagemaker_debug_ext.store.format.messages import Array

LOG = logging.getLogger(__name__)

WORTHWHILE: Final = 1 << 13
"""Minimum number of elements for which a compiled loop is faster than numpy."""

_LOCK: Final = fork_safe_lock()
"""Held while compiling, because Numba then holds a lock that a forked child would wait for in vain."""


def kernels_for(array: Array) -> Any:
    """Return the module `numba_kernels` if it suits an array; None if numpy is to read the array."""
    suits = array.size >= WORTHWHILE and array.dtype == np.float32 and array.flags.c_contiguous
    return _load() if suits else None


@functools.cache
def _load() -> ModuleType | None:
    try:
        with _LOCK:
            loops = importlib.import_module("sagemaker_debug_ext.hooks.statistics.numba_kernels")
            sample = np.ones(1, np.float32)
            loops.summarise(sample)  # compiles it, or fails now if that is impossible
            loops.count_leading_bits(sample, 16)
    except Exception as error:  # noqa: BLE001 - Numba fails in ways of its own, and numpy does without
        LOG.info("reductions and histograms of large tensors use numpy, because Numba is unavailable: %s", error)
        return None
    return loops
