"""Statistics of a tensor that several rules use."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64

_INPUT: Final = re.compile(r"_input_[0-9]+$")


def mean_abs(gradient: Array) -> float:
    """Return the mean absolute value, computed in double precision."""
    return float(np.mean(np.abs(to_float64(gradient))))


def variance(value: Array) -> float | None:
    """Return the population variance, computed in double precision; None for fewer than two elements."""
    with np.errstate(all="ignore"):  # infinities give NaN, which never fires
        return float(np.var(to_float64(value))) if value.size > 1 else None


def variation(output: Array) -> float | None:
    """Return how much outputs differ between samples, relative to their size.

    The root of the mean variance over the batch is divided by the root of the mean square. Outputs that are all 0 have
    the variation 0. None for fewer than four samples, for other than real floating-point numbers, and for outputs with
    NaN or infinities.
    """
    if output.ndim < 2 or output.shape[0] < 4 or output.dtype.kind in "iubc":
        return None
    flat = to_float64(output).reshape(len(output), -1)
    size = _root_mean(np.square(flat))
    if not math.isfinite(size):
        return None
    if not size:
        return 0.0
    apart = flat - np.add.reduce(flat, axis=0, keepdims=True) / len(flat)
    return _root_mean(np.add.reduce(np.square(apart, out=apart), axis=0) / len(flat)) / size


def _root_mean(values: Array) -> float:
    """Return the root of the mean; NumPy's own functions for mean and variance take longer than small arrays do."""
    return math.sqrt(np.add.reduce(values, axis=None) / values.size)


def find_counter(name: str, ignores_masks: bool) -> Callable[[Array], int]:
    """Return the function that counts the elements of a tensor that are not finite.

    Args:
        name: The tensor.
        ignores_masks: Whether to accept attention masks, which are minus infinity in places.
    """
    return count_non_finite_of_input if ignores_masks and _INPUT.search(name) else count_non_finite


def count_nan(value: Array) -> int:
    """Return the number of elements that are NaN."""
    return int(np.isnan(value).sum()) if may_be_non_finite(value) and not has_finite_sum(value) else 0


def count_non_finite(value: Array) -> int:
    """Return the number of elements that are NaN or infinite."""
    if not may_be_non_finite(value) or has_finite_sum(value):
        return 0
    return int(value.size - np.isfinite(value).sum())


def count_non_finite_of_input(value: Array) -> int:
    """Return the same for a layer's input; 0 for an attention mask, whose elements are all 0 or minus infinity."""
    count = count_non_finite(value)
    is_mask = count > 0 and value.dtype.kind != "c" and bool(((value == 0) | (value == -np.inf)).all())
    return 0 if is_mask else count


def has_finite_sum(value: Array) -> bool:
    """Return whether the sum is finite, which proves that every element is."""
    with np.errstate(all="ignore"):
        return value.dtype.kind == "f" and bool(np.isfinite(np.add.reduce(value, axis=None)))


def may_be_non_finite(value: Array) -> bool:
    """Return whether the tensor's type can hold NaN or infinities."""
    return value.dtype.kind not in "biu"
