"""Sums and scalar products of large arrays, row by row.

A row is short enough that linear algebra libraries use the calling thread only, and that its sum in the array's own
precision has an error below a thousandth. A scalar product with ones takes two thirds of the time of `numpy.sum`. The
sums of rows are added in double precision.
"""

from __future__ import annotations

import functools
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]

ROW: Final = 1 << 13
"""Number of elements of a row."""


def sum_all(values: Array) -> float:
    """Return the sum of the elements of a vector."""
    if values.size < ROW:
        return float(np.add.reduce(values))
    rows, rest = split_rows(values)
    return float(np.add.reduce(_dots(rows, _ones(ROW, values.dtype)), dtype=np.float64) + np.add.reduce(rest))


def sum_squares(values: Array) -> float:
    """Return the sum of the squares of the elements of a vector."""
    if values.size < ROW:
        return float(np.dot(values, values))
    rows, rest = split_rows(values)
    return float(np.add.reduce(_dots(rows, rows), dtype=np.float64) + np.dot(rest, rest))


def row_dots(vectors: Array, others: Array | None = None) -> Floats:
    """Return the scalar product of each of several vectors with another one, or with ones.

    Args:
        vectors: ``(N, M)``.
        others: ``(N, M)``; None for ones.
    """
    total = np.zeros(len(vectors))
    for part, other in zip(split_rows(vectors), (None, None) if others is None else split_rows(others), strict=True):
        if part.size:
            products = _dots(part, _ones(part.shape[-1], part.dtype) if other is None else other)
            total += np.add.reduce(products.reshape(len(vectors), -1), axis=1, dtype=np.float64)
    return total


def split_rows(values: Array) -> tuple[Array, Array]:
    """Split the last axis: return the whole rows, ``(..., R, ROW)``, and the remaining elements, ``(..., rest)``."""
    whole = values.shape[-1] - values.shape[-1] % ROW
    return values[..., :whole].reshape(*values.shape[:-1], whole // ROW, ROW), values[..., whole:]


def _dots(rows: Array, others: Array) -> Array:
    products: Array = np.matmul(rows[..., np.newaxis, :], others[..., np.newaxis])
    return products[..., 0, 0]


@functools.lru_cache(maxsize=16)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    return np.ones(length, dtype)
