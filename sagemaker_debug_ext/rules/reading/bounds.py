"""Bounds of statistics of many values at once, computed in the precision of the tensor's type.

At most steps of most jobs rules find nothing, and a bound proves that at a fraction of the cost of the statistic. A
step without a proof is evaluated on its own, in double precision, so bounds never change what a rule finds. Functions
of a series return one element for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from sagemaker_debug_ext._row_sums import row_dots
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.series import (
    Chunk,
    Flags,
    Floats,
    TensorSeries,
    is_precise,
    precise_mean_squares,
    square_sums,
)

MARGIN: Final = 1e-2
"""Relative error that bounds allow for; the statistics of `TensorSeries` are ten times as precise."""

_CACHED_ELEMENTS: Final = 2**15
"""Elements of differences that are computed at a time, so that they stay in the processor's cache."""


def least_non_zero(series: TensorSeries) -> Floats:
    """Return how many elements are certainly not 0."""
    return series.concatenate(lambda chunk: np.count_nonzero(chunk.sample, axis=1).astype(np.float64))


def all_finite(series: TensorSeries) -> Flags:
    """Return which values are certainly finite in every element."""
    found: Flags = np.isfinite(series.square_sums)
    if not found.all():  # squares of finite elements may overflow
        integer = series.concatenate(lambda chunk: np.full(len(chunk.positions), float(chunk.dtype.kind in "biu")))
        found = found | np.isfinite(series.sums) | integer.astype(np.bool_)
    return found


def mean_abs_above(series: TensorSeries, limit: float) -> Flags:
    """Return which values certainly have a finite mean absolute value above a limit."""
    enough = limit * (1 + MARGIN) * series.sizes
    proved: Flags = series.concatenate(lambda chunk: _abs_sums(chunk.sample)) > enough
    if not proved.all():  # a sample does not prove it for tensors that are mostly 0, such as gradients of embeddings
        proved |= series.concatenate(lambda chunk: _abs_sums(_most_elements(chunk))) > enough
    return proved & all_finite(series)


def num_leading_samples(threshold_inactivity: float, num_samples: int) -> int:
    """Return how many of a layer's samples `active_units` looks at, at most."""
    return max(8, 4 * math.ceil(threshold_inactivity * num_samples / 100))


def active_units(
    series: TensorSeries, is_active: Callable[[Array], Flags], threshold_inactivity: float, threshold_layer: float
) -> Flags:
    """Return which values certainly have enough active units, evaluated by their leading samples.

    Args:
        series: Outputs or inputs of a layer, whose first axis is the batch.
        is_active: Returns which elements are active.
        threshold_inactivity: Percentage of the samples in which a unit must be active.
        threshold_layer: Percentage of the units that may be inactive.
    """
    limits = threshold_inactivity, threshold_layer
    return np.concatenate([_active_units(chunk, is_active, *limits) for chunk in series.chunks])


def _active_units(
    chunk: Chunk, is_active: Callable[[Array], Flags], threshold_inactivity: float, threshold_layer: float
) -> Flags:
    none = np.zeros(len(chunk.positions), np.bool_)
    num_samples = chunk.shape[0] if chunk.shape else 1
    enough = num_leading_samples(threshold_inactivity, num_samples)
    if num_samples < 2 or enough > np.iinfo(np.uint8).max or chunk.leading.shape[1] < min(enough, num_samples):
        return none
    flags = is_active(chunk.leading[:, :enough])
    active = np.add.reduce(flags.view(np.uint8), axis=1, dtype=np.uint8)
    inactive = (100.0 * active / num_samples < threshold_inactivity).reshape(len(none), -1)
    found: Flags = 100.0 * np.count_nonzero(inactive, axis=1) / inactive.shape[1] <= threshold_layer
    return found


def update_ratio_within(series: TensorSeries, low: float, high: float, epsilon: float) -> Flags:
    """Return for which values the update ratio certainly lies within two limits.

    The update ratio is the norm of the change since the previous value, divided by the norm of that value.

    Args:
        series: The values.
        low: Lower limit.
        high: Upper limit.
        epsilon: Added to the norm in the denominator.
    """
    before = [np.full(1, np.nan)] if series.before is None else [series.before.mean_squares[-1:]]
    norms = np.sqrt(np.concatenate([*before, series.mean_squares])[: len(series.sizes)] * series.sizes)
    # the triangle inequality bounds the change from above; a few elements often bound it from below
    proved = (np.sqrt(series.mean_squares * series.sizes) + norms) * (1 + MARGIN) < high * (norms + epsilon)
    enough = low * (1 + MARGIN) * (norms + epsilon)
    for is_whole in (False, True):
        changes = [_square_sums_of_changes(*pair) for pair in _pairs(series, is_whole)]
        is_large_enough: Flags = np.sqrt(np.concatenate(changes)) * (1 - MARGIN) > enough
        if (is_large_enough | ~proved).all():
            break
    return proved & is_large_enough


def differs(series: TensorSeries, atol: float, rtol: float) -> Flags:
    """Return which values certainly differ from the previous one in an element, by more than the tolerance."""
    return np.concatenate([_differ(later, earlier, atol, rtol) for later, earlier in _pairs(series, is_whole=False)])


def variance_bounds(value: Array) -> tuple[float, float]:
    """Return a lower and an upper bound of the variance of a tensor; NaN where there is none."""
    flat = value.reshape(1, -1)
    square = float(precise_mean_squares(square_sums(flat) / flat.size)[0])
    if np.isnan(square):
        return np.nan, np.nan
    about: float = square - float(row_dots(flat, None)[0] / flat.size) ** 2
    return about - MARGIN * square, about + MARGIN * square


def _pairs(series: TensorSeries, is_whole: bool) -> Iterator[tuple[Array, Array | None]]:
    """Yield rows and the rows of the previous values; None for a first value and after a change of shape or type.

    Args:
        series: The values.
        is_whole: Yield all elements, if they are in memory; otherwise a sample.
    """
    last = series.before.chunks[-1] if series.before is not None and series.before.chunks else None
    for chunk in series.chunks:
        flat = _most_elements(chunk) if is_whole else chunk.sample
        earlier = None
        if last is not None and (type(last), last.shape, last.dtype) == (type(chunk), chunk.shape, chunk.dtype):
            earlier = (_most_elements(last) if is_whole else last.sample)[-1:]
        yield flat[:1], earlier
        if len(flat) > 1:
            yield flat[1:], flat[:-1]
        last = chunk


def _most_elements(chunk: Chunk) -> Array:
    return chunk.sample if chunk.flat is None else chunk.flat


def _abs_sums(flat: Array) -> Floats:
    if not is_precise(flat.dtype):
        return np.full(len(flat), np.nan)
    found: Floats = np.add.reduce(np.abs(flat), axis=1).astype(np.float64)
    return found


def _square_sums_of_changes(flat: Array, earlier: Array | None) -> Floats:
    """Return the sum of squares of the difference between each row and the earlier one; NaN if it is not precise."""
    size = flat.shape[1]
    if earlier is None or not is_precise(flat.dtype):
        return np.full(len(flat), np.nan)
    total = np.zeros(len(flat))
    num_rows = max(_CACHED_ELEMENTS // size, 1)
    for row in range(0, len(flat), num_rows):
        rows = slice(row, row + num_rows)
        for start in range(0, size, _CACHED_ELEMENTS):
            columns = slice(start, min(start + _CACHED_ELEMENTS, size))
            change = flat[rows, columns] - earlier[rows, columns]
            total[rows] += row_dots(change, change)
    found: Floats = precise_mean_squares(total / size) * size
    return found


def _differ(later: Array, earlier: Array | None, atol: float, rtol: float) -> Flags:
    if earlier is None or later.dtype.kind != "f":
        return np.zeros(len(later), np.bool_)
    a, b = later.astype(np.float64), earlier.astype(np.float64)
    found: Flags = np.any(np.abs(a - b) > (1 + MARGIN) * (atol + rtol * np.maximum(np.abs(a), np.abs(b))), axis=1)
    return found
