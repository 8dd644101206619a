"""Reductions of numpy arrays (store format, section 2.6)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.format.messages import EXTENSION_DTYPES

Array = npt.NDArray[Any]

_OUTPUT_NUMBER: Final = re.compile(r":\d+")

_OPERATIONS: Final[dict[str, Callable[[Array], Any]]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "sum": np.sum,
    "prod": np.prod,
    "l1": lambda array: np.sum(np.abs(array)),
    "l2": lambda array: np.sqrt(np.sum(np.square(np.abs(array)))),
}
"""All operations but `std` and `variance`; norms are entrywise."""

_COUNTING: Final = frozenset({"min", "max", "sum", "prod"})
"""Operations whose result over integers is an integer."""


def widen_extension_dtypes(array: Array) -> Array:
    """Convert small floats of ml_dtypes to float32; return other arrays unchanged."""
    return array.astype(np.float32) if array.dtype.name in EXTENSION_DTYPES else array


def can_reduce(array: Array) -> bool:
    """Return whether `array` has elements that are numbers, so that reductions exist."""
    return array.size > 0 and array.dtype.kind not in "USOMm"


def reduce_array(array: Array, reduction: Reduction, ddof: int = 0) -> Array:
    """Reduce an array to one number.

    Integers are reduced in float64 if the result may be fractional, and floats below 32 bits in float32, so that sums
    do not overflow.

    Args:
        array: Array with at least one number.
        reduction: The reduction to compute. Norms are those of the flattened array.
        ddof: Delta degrees of freedom of `std` and `variance`: 0 as in numpy and TensorFlow, 1 as in PyTorch. If the
            divisor is 0, the result is NaN.

    Returns:
        A zero-dimensional array.
    """
    values = _widen(array, reduction.name)
    if reduction.abs:
        values = np.abs(values)
    with np.errstate(all="ignore"):  # an overflow is a finding for rules, not a warning for the script
        if reduction.name in ("std", "variance"):
            return _spread(values, reduction.name, ddof)
        return np.asarray(_OPERATIONS[reduction.name](values))


def _widen(array: Array, operation: str) -> Array:
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind in "iu":
        return array if operation in _COUNTING else array.astype(np.float64)
    if array.dtype.kind in "fc" and array.dtype.itemsize >= 4:
        return array
    return array.astype(np.float32)


def _spread(values: Array, operation: str, ddof: int) -> Array:
    if values.size <= ddof:
        return np.asarray(np.nan, dtype=values.real.dtype)
    return np.asarray((np.std if operation == "std" else np.var)(values, ddof=ddof))


def without_output_number(tensor_name: str) -> str:
    """Return the tensor name on which the names of its reductions are based."""
    return _OUTPUT_NUMBER.sub("", tensor_name)


@functools.lru_cache(maxsize=16384)
def reduction_names(tensor_name: str, reductions: tuple[Reduction, ...]) -> tuple[str, ...]:
    """Return the names under which reductions of a tensor are stored."""
    bare = without_output_number(tensor_name)
    return tuple(reduction_tensor_name(reduction.name, reduction.abs, bare) for reduction in reductions)


@functools.lru_cache(maxsize=64)
def batched_reduction_names(tensor_names: tuple[str, ...], reductions: tuple[Reduction, ...]) -> tuple[str, ...]:
    """Return the names of the reductions of several tensors, grouped by tensor."""
    return tuple(name for tensor_name in tensor_names for name in reduction_names(tensor_name, reductions))
