"""Histograms of arrays, counted by the bits of the numbers.

The leading bits of a float32 are its sign, its exponent and the beginning of its mantissa: cut off there, they number
buckets whose width grows with the value, about an eighth of it. Counting them takes one pass and no search.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.hooks.statistics.numba_loader import kernels_for
from sagemaker_debug_ext.store.format.messages import Array

_SHIFT: Final = 20
_NUM_BUCKETS: Final = 1 << (32 - _SHIFT)
_NUM_POSITIVE: Final = _NUM_BUCKETS // 2
_MASK: Final = np.uint64(_NUM_BUCKETS - 1)
_SHIFT_FIRST: Final = np.uint64(32 + _SHIFT)
_SHIFT_SECOND: Final = np.uint64(_SHIFT)
"""The bits to cut off a pair of float32 that is read as one number."""

_PIECE: Final = 1 << 18
_ROW: Final = 1 << 13
"""Up to this size numpy's dot product stays on the calling thread."""

_ONES: Final = np.ones((1, _ROW), np.float32)
_DOTS: Final[Any] = getattr(np, "vecdot", None) or functools.partial(np.einsum, "ij,ij->i")
"""Dot products of rows; older versions of numpy have the slower way only."""


def _edge(bucket: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the number at which a positive bucket begins."""
    return (bucket.astype(np.uint32) << _SHIFT).view(np.float32).astype(np.float64)


_INFINITE: Final = int(np.array(np.inf, np.float32).view(np.uint32)) >> _SHIFT
_TINY: Final = int(np.array(1e-12, np.float32).view(np.uint32)) >> _SHIFT
"""Buckets below this one are joined: what is smaller counts as zero."""

_POSITIVE: Final = np.arange(_TINY, _INFINITE)
_ORDER: Final = np.concatenate([_POSITIVE[::-1] + _NUM_POSITIVE, [0], _POSITIVE])
"""The buckets in the order of their values; bucket 0 stands for all near zero."""

_ZERO: Final = _POSITIVE.size
"""Where that one is in `_ORDER`."""

_EDGES: Final = np.concatenate(
    [-_edge(_POSITIVE[::-1] + 1), [-_edge(_POSITIVE[:1])[0]], _edge(np.append(_POSITIVE, _INFINITE))]
)
"""Where each bucket of `_ORDER` begins, and where the last one ends."""

_LARGEST: Final = float(np.finfo(np.float32).max)
_EDGES[0], _EDGES[-1] = -_LARGEST, _LARGEST


class Histogram(NamedTuple):
    """How the finite values of an array are spread.

    Bucket ``i`` holds `counts[i]` values; it ends at ``limits[i]`` and begins where the one before it ends. The first
    bucket is empty and only says where the second begins.
    """

    least: float
    greatest: float
    num: int
    total: float
    squares: float
    limits: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


class _Numbers(NamedTuple):
    """What a histogram says beside its buckets."""

    least: float
    greatest: float
    num: int
    total: float
    squares: float


def histogram(array: Array) -> Histogram | None:
    """Return the histogram of an array's finite values.

    Returns:
        None if there are none, or if they are no real numbers.
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
        if not math.isfinite(numbers.total + numbers.squares):  # too large for the pieces' own precision
            wide = values.astype(np.float64)
            numbers = numbers._replace(total=float(np.add.reduce(wide)), squares=float(np.einsum("i,i", wide, wide)))
        return Histogram(*numbers, *_join(counts))


def _scan(values: Array) -> tuple[_Numbers, npt.NDArray[np.int64]]:
    """Return what there is to say of values, NaN where there is one; and how many each bucket holds, in no order."""
    kernels = kernels_for(values)
    if kernels is None:
        return _look_through_in_pieces(values)
    sums = kernels.summarise(values)
    numbers = _Numbers(sums.plain.least, sums.plain.greatest, values.size, sums.plain.total, sums.squares)
    return numbers, kernels.count_leading_bits(values, _SHIFT)


def _look_through_in_pieces(values: Array) -> tuple[_Numbers, npt.NDArray[np.int64]]:
    """Find out all of a piece while the cache has it."""
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
    """Return the sums of the values and of their squares; in double precision where single does not reach."""
    num_rows = values.size // _ROW
    rest = values[num_rows * _ROW :]
    total, squares = float(np.add.reduce(rest)), float(np.dot(rest, rest))
    if num_rows:
        rows = values[: num_rows * _ROW].reshape(num_rows, _ROW)
        total += float(np.add.reduce(_DOTS(rows, _ONES), dtype=np.float64))
        squares += float(np.add.reduce(_DOTS(rows, rows), dtype=np.float64))
    if math.isfinite(total) and math.isfinite(squares):
        return total, squares
    wide = values.astype(np.float64)
    return float(np.add.reduce(wide)), float(np.dot(wide, wide))


def _bucket_numbers(values: Array, room: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bucket of each value, in no order; `room` is for as many numbers and may be overwritten."""
    if values.size < _ROW or values.size % 2:
        return (values.view(np.uint32) >> _SHIFT).astype(np.int64)
    pairs = values.view(np.uint64)  # two at a time, and already of the width that counting wants
    numbers = room.view(np.uint64)
    first, second = numbers[: pairs.size], numbers[pairs.size :]
    np.right_shift(pairs, _SHIFT_FIRST, out=first)
    np.right_shift(pairs, _SHIFT_SECOND, out=second)
    np.bitwise_and(second, _MASK, out=second)
    return room


def _join(counts: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Put the counts in the order of the values, and join empty neighbours; return where buckets end, and counts."""
    ending = np.zeros(_EDGES.size, np.int64)  # at each edge the bucket that ends there; none at the first
    counts.take(_ORDER, out=ending[1:], mode="clip")  # numpy would copy `out` to be able to raise in the middle
    ending[1 + _ZERO] = np.add.reduce(counts.reshape(2, _NUM_POSITIVE)[:, :_TINY], axis=None)
    is_filled = ending != 0
    is_edge = is_filled.copy()
    is_edge[:-1] |= is_filled[1:]
    (edges,) = is_edge.nonzero()
    return _EDGES[edges], ending[edges]
