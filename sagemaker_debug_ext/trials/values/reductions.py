"""Reductions computed from a saved value, where none were saved."""

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
    """Refuse a name that is no reduction.

    Raises:
        SMDebugValueError: It is none of the reductions and norms.
    """
    if name not in (*REDUCTIONS, *NORMS):
        raise SMDebugValueError(f"reduction_name must be one of {', '.join((*REDUCTIONS, *NORMS))} (got {name!r})")


def compute_reduction(name: str, value: Array, absolute: bool = False) -> Any:
    """Compute a reduction with numpy's meaning of it.

    Standard deviation and variance are those of the population. The norms of a matrix are matrix norms, the largest
    column sum and the largest singular value, as analyses of such trials have always had them; those of arrays of any
    other number of dimensions are taken over all elements. What a hook saved may therefore differ from what is
    computed here.

    Args:
        name: One of ``REDUCTIONS`` or ``NORMS``.
        value: The tensor.
        absolute: Whether to take absolute values first.

    Raises:
        SMDebugTypeError: The tensor holds texts.
        SMDebugValueError: The name is unknown, or the tensor is empty and has no smallest and largest element.
    """
    check_reduction(name)
    if value.dtype.kind in "UO":
        raise SMDebugTypeError(f"reduction {name!r} needs numbers (got texts)")
    if value.dtype.kind == "V":  # the small floats of ml_dtypes, which few numpy functions know
        value = value.astype(np.float32)
    if name in ("min", "max") and not value.size:
        raise SMDebugValueError(f"reduction {name!r} needs at least one element (got shape {value.shape})")
    if name in _NOT_A_NUMBER_IF_EMPTY and not value.size:
        return np.float64("nan")
    with np.errstate(all="ignore"):  # infinities and overflow are what people look for, not accidents
        array = np.abs(value) if absolute else value
        return _norm(array, _ORDERS[name]) if name in _ORDERS else _FUNCTIONS[name](array)


def _norm(array: Array, order: int) -> Any:
    if array.ndim != 2 or not array.size:
        return np.linalg.norm(array.reshape(-1), ord=order)
    if array.dtype == np.float16:  # unknown to the singular value decomposition
        array = array.astype(np.float32)
    try:
        return np.linalg.norm(array, ord=order)
    except np.linalg.LinAlgError:  # it does not converge on NaN
        return np.float64("nan")
