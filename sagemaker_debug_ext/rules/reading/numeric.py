"""Array functions that rules share: what counts as numeric, and statistics in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Return whether tensors of a type hold numbers; booleans count as 0 and 1."""
    # ml_dtypes such as bfloat16 have the kind of void types, but can be cast
    return dtype.kind in "biufc" or (dtype.kind == "V" and np.can_cast(dtype, np.float64))


def holds_quantities(value: Array) -> bool:
    """Return whether a tensor has floating-point numbers or the bytes of pictures; other integers are indices."""
    return value.dtype.kind in "fV" or (value.dtype == np.uint8 and value.ndim > 2)


def to_float64(value: Array) -> Array:
    """Return `value` in double precision, because statistics overflow in narrower types."""
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64, copy=False)


def count_along_batch(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return how many flags are set along the first axis.

    Faster than NumPy's own functions, which widen each flag to eight bytes before they add it.
    """
    bits = flags.view(np.uint8)
    total = np.zeros(flags.shape[1:], np.int64)
    for start in range(0, len(bits), 255):  # as many as one byte can count
        total += np.add.reduce(bits[start : start + 255], axis=0, dtype=np.uint8)
    return total


def norm(value: Array) -> float:
    """Return the Euclidean norm over all elements, computed in double precision.

    `numpy.linalg.norm` calls a threaded BLAS, whose threads wait for each other on a machine that is busy training.
    """
    flat = value.reshape(-1)
    if flat.dtype.kind == "c":
        flat = np.abs(flat)
    elif flat.dtype.kind not in "fiu":
        flat = to_float64(flat)
    return math.sqrt(np.einsum("i,i->", flat, flat, dtype=np.float64, casting="unsafe"))


def root_mean_square(value: Array) -> float:
    """Return the root mean square over all elements; `value` must have some."""
    return norm(value) / math.sqrt(value.size)


def as_scalar(value: Array | None) -> float | None:
    """Return the number that a tensor of exactly one element holds; None for any other tensor."""
    if value is None or value.size != 1 or value.dtype.kind == "c":
        return None
    return float(value.reshape(-1)[0])
