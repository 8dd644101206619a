"""Histograms of arrays, computed from the bits of the numbers.

The leading bits of a float32 are its sign, its exponent and the start of its mantissa. Truncated there, they are the
numbers of buckets whose width is about an eighth of the value. Counting them takes one pass and no search.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext._row_sums import ROW, sum_all, sum_squares
from sagemaker_debug_ext.hooks.statistics.numba_loader import kernels_for
from sagemaker_debug_ext.store.format.messages import Array

_SHIFT: Final = 20
_NUM_BUCKETS: Final = 1 << (32 - _SHIFT)
_NUM_POSITIVE: Final = _NUM_BUCKETS // 2
_MASK: Final = np.uint64(_NUM_BUCKETS - 1)
_SHIFT_FIRST: Final = np.uint64(32 + _SHIFT)
_SHIFT_SECOND: Final = np.uint64(_SHIFT)
"""The number of bits to cut off a pair of float32 that is read as one integer."""

_PIECE: Final = 1 << 18


def _edge(bucket: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the lower edge of a positive bucket."""
    return (bucket.astype(np.uint32) << _SHIFT).view(np.float32).astype(np.float64)


_INFINITE: Final = int(np.array(np.inf, np.float32).view(np.uint32)) >> _SHIFT
_TINY: Final = int(np.array(1e-12, np.float32).view(np.uint32)) >> _SHIFT
"""Buckets below this one are merged, because smaller values count as zero."""

_POSITIVE: Final = np.arange(_TINY, _INFINITE)
_ORDER: Final = np.concatenate([_POSITIVE[::-1] + _NUM_POSITIVE, [0], _POSITIVE])
"""The buckets in the order of their values; bucket 0 holds all values near zero."""

_ZERO: Final = _POSITIVE.size
"""Position of that bucket in `_ORDER`."""

_EDGES: Final = np.concatenate(
    [-_edge(_POSITIVE[::-1] + 1), [-_edge(_POSITIVE[:1])[0]], _edge(np.append(_POSITIVE, _INFINITE))]
)
"""Lower edges of the buckets in `_ORDER`, and the upper edge of the last one."""

_LARGEST: Final = float(np.finfo(np.float32).max)
_EDGES[0], _EDGES[-1] = -_LARGEST, _LARGEST


class Histogram(NamedTuple):
    """Distribution of the finite values of an array.

    Bucket ``i`` holds `counts[i]` values, up to the upper edge ``limits[i]``; its lower edge is that of the previous
    bucket. The first bucket is empty and defines the lower edge of the second one.
    """

    least: float
    greatest: float
    num: int
    total: float
    squares: float
    limits: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


class _Numbers(NamedTuple):
    """The scalar statistics of a histogram."""

    least: float
    greatest: float
    num: int
    total: float
    squares: float


def histogram(array: Array) -> Histogram | None:
    """Return the histogram of an array's finite values.

    Returns:
        None if there are no finite values, or if the values are not real numbers.
    """
    if array.dtype.kind not in "fiu" and array.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return None
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(array).reshape(-1).astype(np.float32, copy=False)
        if not values.size:
            return None
        numbers, counts = _scan(values)
        if not math.isfinite(numbers.least - numbers.greatest):
            values = values[np.isfinite(values)]
            if not values.size:
                return None
            numbers, counts = _scan(values)
        if not math.isfinite(numbers.total + numbers.squares):  # the sums overflow in the precision of the chunks
            wide = values.astype(np.float64)
            numbers = numbers._replace(total=float(np.add.reduce(wide)), squares=float(np.einsum("i,i", wide, wide)))
        return Histogram(*numbers, *_join(counts))


def _scan(values: Array) -> tuple[_Numbers, npt.NDArray[np.int64]]:
    """Return the statistics of values, NaN if a value is NaN, and the unordered counts of all buckets."""
    kernels = kernels_for(values)
    if kernels is None:
        return _look_through_in_pieces(values)
    sums = kernels.summarise(values)
    numbers = _Numbers(sums.plain.least, sums.plain.greatest, values.size, sums.plain.total, sums.squares)
    return numbers, kernels.count_leading_bits(values, _SHIFT)


def _look_through_in_pieces(values: Array) -> tuple[_Numbers, npt.NDArray[np.int64]]:
    """Compute histograms chunk by chunk, so that each chunk stays in the cache."""
    room = np.empty(min(values.size, _PIECE), np.int64)
    counts = np.zeros(_NUM_BUCKETS, np.int64)
    least, greatest, total, squares = [], [], 0.0, 0.0
    for start in range(0, values.size, _PIECE):
        piece = values[start : start + _PIECE]
        least.append(np.minimum.reduce(piece))
        greatest.append(np.maximum.reduce(piece))
        more, more_squares = _sums(piece)
        total, squares = total + more, squares + more_squares
        counts += np.bincount(_bucket_numbers(piece, room[: piece.size]), minlength=_NUM_BUCKETS)
    extremes = float(np.minimum.reduce(least)), float(np.maximum.reduce(greatest))
    return _Numbers(*extremes, values.size, total, squares), counts


def _sums(values: Array) -> tuple[float, float]:
    """Return the sums of the values and of their squares, in double precision if single precision overflows."""
    total, squares = sum_all(values), sum_squares(values)
    if math.isfinite(total) and math.isfinite(squares):
        return total, squares
    wide = values.astype(np.float64)
    return float(np.add.reduce(wide)), float(np.dot(wide, wide))


def _bucket_numbers(values: Array, room: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bucket of each value, unordered; `room` is a buffer of the same size that is overwritten."""
    if values.size < ROW or values.size % 2:
        return (values.view(np.uint32) >> _SHIFT).astype(np.int64)
    pairs = values.view(np.uint64)  # two values at a time, in the integer width that bincount needs
    numbers = room.view(np.uint64)
    first, second = numbers[: pairs.size], numbers[pairs.size :]
    np.right_shift(pairs, _SHIFT_FIRST, out=first)
    np.right_shift(pairs, _SHIFT_SECOND, out=second)
    np.bitwise_and(second, _MASK, out=second)
    return room


def _join(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Sort the counts by value and merge adjacent empty buckets; return upper edges and counts."""
    ending = np.zeros(_EDGES.size, np.int64)  # count of the bucket that ends at each edge; none at the first
    counts.take(_ORDER, out=ending[1:], mode="clip")  # with mode="raise" numpy would buffer `out`
    ending[1 + _ZERO] = np.add.reduce(counts.reshape(2, _NUM_POSITIVE)[:, :_TINY], axis=None)
    is_filled = ending != 0
    is_edge = is_filled.copy()
    is_edge[:-1] |= is_filled[1:]
    (edges,) = is_edge.nonzero()
    return _EDGES[edges], ending[edges]
