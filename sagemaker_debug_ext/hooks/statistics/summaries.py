"""Statistics of a tensor other than reductions: `sagemaker_debug_ext.vocabulary.STATISTICS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from sagemaker_debug_ext.hooks.statistics.histograms import histogram
from sagemaker_debug_ext.hooks.statistics.reductions import widen_extension_dtypes
from sagemaker_debug_ext.store.format.messages import Array


def _zero_fraction(array: Array) -> Array:
    return np.asarray(1 - np.count_nonzero(array) / array.size)


def _nonfinite(array: Array) -> Array:
    return np.asarray(array.size - np.count_nonzero(np.isfinite(array)))


def _abs_max(array: Array) -> Array:
    return np.asarray(np.abs(array).max())


def _histogram(array: Array) -> Array | None:
    spread = histogram(array)
    return None if spread is None else np.stack([spread.limits, spread.counts.astype(np.float64)])


_OPERATIONS: Final[dict[str, Callable[[Array], Array | None]]] = {
    "zero_fraction": _zero_fraction,
    "nonfinite": _nonfinite,
    "abs_max": _abs_max,
    "histogram": _histogram,
}


def compute_statistics(array: Array, names: tuple[str, ...]) -> dict[str, Array]:
    """Compute statistics of an array.

    Args:
        array: The array; strings and empty arrays have no statistics.
        names: Names of the statistics. A histogram has two rows: the upper edges of the buckets and their counts of
            finite values; the first bucket is empty and defines the lower edge of the second one.

    Returns:
        Name → statistic, for those that exist for the array.
    """
    if not array.size or array.dtype.kind in "USOMm":
        return {}
    array = widen_extension_dtypes(array)
    with np.errstate(all="ignore"):
        found = {name: _OPERATIONS[name](array) for name in names}
    return {name: value for name, value in found.items() if value is not None}
