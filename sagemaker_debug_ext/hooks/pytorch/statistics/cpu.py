"""Compute all reductions of a CPU tensor in one pass over its memory.

With Numba one compiled loop computes every reduction. Without it a tensor is read in chunks that fit the processor's
cache, so that six reductions cost little more than one. Sums of a chunk use the tensor's own precision, and are
combined in float64. If squares leave the range of float32, the tensor is reduced again in float64.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np
import torch
from torch import Tensor

from sagemaker_debug_ext._row_sums import sum_all, sum_squares
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.pytorch.tensors import array_over
from sagemaker_debug_ext.hooks.statistics.numba_loader import kernels_for
from sagemaker_debug_ext.hooks.statistics.precision import CANCELLING, LEAST_SQUARES, MOST_SQUARES
from sagemaker_debug_ext.store.format.messages import Array

_PIECE: Final = 1 << 16
_NUMPY_IS_FASTER_UP_TO: Final = 4096
"""Up to this many elements NumPy's calls cost less than PyTorch's, and its dot product runs on one thread."""

_LIMITS: Final = {torch.float32: (LEAST_SQUARES, MOST_SQUARES), torch.float64: (1e-200, 1e300)}
"""Sums of squares outside these limits have lost precision, or underflow or overflow, in the dtype."""

_ANY: Final = (0.0, math.inf)
"""No limits: squares of float32 never leave the range of float64."""

_NEEDS_ORDER: Final = frozenset({"min", "max"})
_NEEDS_SQUARES: Final = frozenset({"l2", "std", "variance"})


class PrecisionLossError(Exception):
    """A sum left the range in which it is exact; the tensor must be reduced one operation at a time."""


@attrs.define
class _Sums:
    """Running sums and extremes of the values, or of the absolute values, of the chunks read so far."""

    count: int = 0
    least: float = math.inf
    greatest: float = -math.inf
    total: float = 0.0
    spread: float = 0.0

    def add(self, count: int, total: float, spread: float) -> None:
        """Add a chunk by its sum and the sum of squared distances from its mean."""
        if self.count:
            distance = total / count - self.total / self.count
            spread += distance * distance * self.count * count / (self.count + count)
        self.count += count
        self.total += total
        self.spread += spread

    def order(self, least: float, greatest: float) -> None:
        """Add the extremes of a chunk; NaN takes precedence."""
        self.least = least if least < self.least or least != least else self.least  # noqa: PLR0124 - NaN
        self.greatest = greatest if greatest > self.greatest or greatest != greatest else self.greatest  # noqa: PLR0124


class TensorSummary:
    """The sums and extremes from which the requested reductions of a tensor are computed.

    Args:
        tensor: A detached, non-empty CPU tensor of 32-bit or 64-bit floats.
        reductions: The requested reductions.
        is_alone: Whether to use the calling thread only. A background thread must, because it would slow training down
            by using PyTorch's thread pool.

    Raises:
        PrecisionLossError: Squares of the 64-bit values leave the range of float64.
    """

    def __init__(self, tensor: Tensor, reductions: Sequence[Reduction], is_alone: bool = False) -> None:
        plain, absolute = _wanted(tuple(reductions))
        self._tensor = tensor
        self._sum = sum_all if is_alone else _sum
        self._needs_squares = bool((plain | absolute) & _NEEDS_SQUARES)
        self._needs_order = bool(plain & _NEEDS_ORDER)
        self._needs_abs = "l1" in plain or bool(absolute - {"l2"})
        self._needs_abs_order = bool(absolute & _NEEDS_ORDER)
        flat = array_over(tensor).reshape(-1)
        try:
            self._scan(flat, _LIMITS[tensor.dtype])
        except PrecisionLossError:
            if tensor.dtype is torch.float64:
                raise
            self._look_through_in_pieces(flat, np.dtype(np.float64), _ANY)

    def value(self, reduction: Reduction) -> float:
        """Return one of the requested reductions."""
        return _VALUES[reduction.name](self, self._absolute if reduction.abs else self._plain)

    @property
    def absolute_total(self) -> float:
        """The sum of the absolute values."""
        return self._absolute.total

    @property
    def norm(self) -> float:
        """The square root of the sum of squares."""
        return math.sqrt(self._squares)

    def product(self, sums: _Sums) -> float:
        """Return the product of the values, or of the absolute values if `sums` holds their sums."""
        tensor = self._tensor.abs() if sums is self._absolute else self._tensor
        return float(tensor.prod().item())

    def _scan(self, flat: Array, limits: tuple[float, float]) -> None:
        kernels = kernels_for(flat)
        if kernels is None:
            self._look_through_in_pieces(flat, flat.dtype, limits)
        else:
            self._take(flat.size, kernels.summarise(flat))

    def _look_through_in_pieces(self, flat: Array, dtype: np.dtype[Any], limits: tuple[float, float]) -> None:
        """Compute all sums again chunk by chunk, in the precision of `dtype`."""
        self._plain, self._absolute, self._squares = _Sums(), _Sums(), 0.0
        self._tiny, self._huge = limits
        scratch = np.empty(min(flat.size, _PIECE), dtype)
        with np.errstate(all="ignore"):  # rules report overflows, so that the script needs no warning
            for start in range(0, flat.size, _PIECE):
                self._read(flat[start : start + _PIECE].astype(dtype, copy=False), scratch)

    def _take(self, count: int, sums: Any) -> None:
        """Store the sums that the compiled loop computed over the entire tensor."""
        if self._needs_squares and not sums.is_exact:
            raise PrecisionLossError
        self._plain, self._absolute = _Sums(count, *sums.plain), _Sums(count, *sums.absolute)
        self._squares = sums.squares

    def _read(self, values: Array, scratch: Array) -> None:
        count = values.size
        if self._needs_order:
            self._plain.order(float(np.minimum.reduce(values)), float(np.maximum.reduce(values)))
        total = self._sum(values)
        squares = spread = 0.0
        if self._needs_squares:
            squares = self._sum_squares(values)
            spread = _spread(values, total, squares, scratch)
        self._squares += squares
        self._plain.add(count, total, spread)
        if not self._needs_abs:
            return
        magnitudes = np.abs(values, out=scratch[:count])
        if self._needs_abs_order:
            self._absolute.order(float(np.minimum.reduce(magnitudes)), float(np.maximum.reduce(magnitudes)))
        total = self._sum(magnitudes)
        self._absolute.add(count, total, _spread(magnitudes, total, squares, magnitudes) if squares else 0.0)

    def _sum_squares(self, values: Array) -> float:
        squares = sum_squares(values)
        if squares > self._huge or (squares < self._tiny and values.any()):
            raise PrecisionLossError
        return squares


def _variance(sums: _Sums) -> float:
    if sums.count < 2 or math.isnan(sums.spread):
        return math.nan
    return max(sums.spread, 0.0) / (sums.count - 1)


_VALUES: Final[dict[str, Callable[[TensorSummary, _Sums], float]]] = {
    "min": lambda _, sums: sums.least,
    "max": lambda _, sums: sums.greatest,
    "sum": lambda _, sums: sums.total,
    "mean": lambda _, sums: sums.total / sums.count,
    "variance": lambda _, sums: _variance(sums),
    "std": lambda _, sums: math.sqrt(_variance(sums)),
    "l1": lambda summary, _: summary.absolute_total,
    "l2": lambda summary, _: summary.norm,
    "prod": lambda summary, sums: summary.product(sums),
}


@functools.lru_cache(maxsize=256)
def _wanted(reductions: tuple[Reduction, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the reductions of the values, and of the absolute values."""
    return (
        frozenset(name for name, absolute in reductions if not absolute),
        frozenset(name for name, absolute in reductions if absolute),
    )


def _sum(values: Array) -> float:
    if values.size <= _NUMPY_IS_FASTER_UP_TO:
        return float(np.add.reduce(values))
    return float(torch.sum(torch.from_numpy(values)).item())


def _spread(values: Array, total: float, squares: float, scratch: Array) -> float:
    """Return the sum of squared distances from the mean without losing precision; may overwrite `scratch`."""
    spread = squares - total * total / values.size
    if spread >= CANCELLING * squares:
        return spread
    return sum_squares(np.subtract(values, values.dtype.type(total / values.size), out=scratch[: values.size]))


def can_summarise(tensor: Tensor) -> bool:
    """Return whether `TensorSummary` supports the dtype and can access the memory."""
    return tensor.dtype in _LIMITS and tensor.device.type == "cpu"
