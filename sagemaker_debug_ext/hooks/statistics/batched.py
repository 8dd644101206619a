"""Batched reductions of many small arrays.

Most tensors of a model are small, such as biases, and the overhead of a function call exceeds the cost of the
computation. They are therefore concatenated, and one call computes each reduction for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.store.format.messages import Array

SMALL: Final = 1 << 13
"""Maximum number of elements of a small array."""

_Row = npt.NDArray[np.float64]


class _Batch:
    """Concatenated arrays in double precision, with cached intermediate results of reductions."""

    def __init__(self, arrays: Sequence[Array], ddof: int) -> None:
        self.counts = np.array([array.size for array in arrays])
        self.starts = np.concatenate([[0], np.cumsum(self.counts[:-1])])
        self.values = np.concatenate([array.reshape(-1) for array in arrays], dtype=np.float64)
        self.ddof = ddof
        self._found: dict[str, _Row] = {}

    def absolute(self) -> _Batch:
        """Return the batch of the absolute values."""
        made = object.__new__(_Batch)
        made.counts, made.starts, made.ddof, made._found = self.counts, self.starts, self.ddof, {}
        made.values = np.abs(self.values)
        return made

    def find(self, name: str) -> _Row:
        """Return one reduction of each array."""
        if name not in self._found:
            self._found[name] = _OPERATIONS[name](self)
        return self._found[name]

    def reduce(self, function: np.ufunc) -> _Row:
        """Reduce each array with a binary ufunc."""
        found: _Row = function.reduceat(self.values, self.starts)
        return found

    def variance(self) -> _Row:
        """Return the sums of squared deviations from the mean, divided by the counts minus `ddof`."""
        distances = self.values - np.repeat(self.find("mean"), self.counts)
        spread = np.add.reduceat(distances * distances, self.starts)
        free = self.counts - self.ddof
        return np.where(free > 0, spread / np.maximum(free, 1), np.nan)

    def length(self) -> _Row:
        """Return the square roots of the sums of squares."""
        return np.sqrt(np.add.reduceat(self.values * self.values, self.starts))


_OPERATIONS: Final[dict[str, Callable[[_Batch], _Row]]] = {
    "min": lambda batch: batch.reduce(np.minimum),
    "max": lambda batch: batch.reduce(np.maximum),
    "sum": lambda batch: batch.reduce(np.add),
    "prod": lambda batch: batch.reduce(np.multiply),
    "mean": lambda batch: batch.find("sum") / batch.counts,
    "variance": _Batch.variance,
    "std": lambda batch: np.sqrt(batch.find("variance")),
    "l2": _Batch.length,
}
"""All operations but ``l1``, which is the sum of the absolute values."""


def reduce_arrays(arrays: Sequence[Array], reductions: Sequence[Reduction], ddof: int) -> _Row:
    """Reduce each of several arrays.

    Args:
        arrays: Non-empty arrays of floats of at most 32 bits, whose squares do not overflow in double precision.
        reductions: The reductions to compute.
        ddof: Delta degrees of freedom of `std` and `variance`.

    Returns:
        Array of shape ``(N, R)``: one row per array, one column per reduction.
    """
    with np.errstate(all="ignore"):  # an overflow is a finding for rules, not a warning for the script
        plain = _Batch(arrays, ddof)
        needs_absolute = any(name == "l1" or absolute for name, absolute in reductions)
        magnitudes = plain.absolute() if needs_absolute else plain
        return np.stack(
            [
                magnitudes.find("sum") if name == "l1" else (magnitudes if absolute else plain).find(name)
                for name, absolute in reductions
            ],
            axis=1,
        )
