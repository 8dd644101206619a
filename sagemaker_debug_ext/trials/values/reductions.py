"""Compute reductions that were not saved, from saved values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "std": np.std,
    "variance": np.var,
    "sum": np.sum,
    "prod": np.prod,
}
_ORDERS: Final = {"l1": 1, "l2": 2}
_NOT_A_NUMBER_IF_EMPTY: Final = ("mean", "std", "variance")


def check_reduction(name: str) -> None:
    """Raise if a name is not that of a reduction.

    Raises:
        SMDebugValueError: The name is neither a reduction nor a norm.
    """
    if name not in (*REDUCTIONS, *NORMS):
        raise SMDebugValueError(f"reduction_name must be one of {', '.join((*REDUCTIONS, *NORMS))} (got {name!r})")


def compute_reduction(name: str, value: Array, absolute: bool = False) -> Any:
    """Compute a reduction as NumPy defines it.

    Standard deviation and variance are those of the population. The norms of a matrix are matrix norms, the largest
    column sum and the largest singular value, for compatibility with existing analyses. Norms of arrays with any other
    number of dimensions are taken over all elements. Reductions saved by a hook may therefore differ.

    Args:
        name: One of ``REDUCTIONS`` or ``NORMS``.
        value: The tensor.
        absolute: Whether to take absolute values first.

    Raises:
        SMDebugTypeError: The tensor holds strings.
        SMDebugValueError: The name is unknown, or the tensor is empty and has no smallest and largest element.
    """
    check_reduction(name)
    if value.dtype.kind in "UO":
        raise SMDebugTypeError(f"reduction {name!r} needs numbers (got texts)")
    if value.dtype.kind == "V":  # extension dtypes of ml_dtypes, which few NumPy functions support
        value = value.astype(np.float32)
    if name in ("min", "max") and not value.size:
        raise SMDebugValueError(f"reduction {name!r} needs at least one element (got shape {value.shape})")
    if name in _NOT_A_NUMBER_IF_EMPTY and not value.size:
        return np.float64("nan")
    with np.errstate(all="ignore"):  # users look for infinities and overflow, so a warning would not help
        array = np.abs(value) if absolute else value
        return _norm(array, _ORDERS[name]) if name in _ORDERS else _FUNCTIONS[name](array)


def _norm(array: Array, order: int) -> Any:
    if array.ndim != 2 or not array.size:
        return np.linalg.norm(array.reshape(-1), ord=order)
    if array.dtype == np.float16:  # the singular value decomposition does not support it
        array = array.astype(np.float32)
    try:
        return np.linalg.norm(array, ord=order)
    except np.linalg.LinAlgError:  # the decomposition does not converge on NaN
        return np.float64("nan")
