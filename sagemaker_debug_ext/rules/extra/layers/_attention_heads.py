"""Tell from its numbers whether an attention of several heads mixes heads with places.

Weights of an attention are not negative and add up to 1 over the places. So what it puts out for a unit lies between
the values of that unit, and near their mean as long as the weights hardly differ. Numbers for which this does not hold
in the order in which they are, but does in the order that a reshape in place of a transpose gives them, are mixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64

MOST_NUMBERS: Final = 1 << 14
"""Results to look at, of whole samples."""
FEWEST_PLACES: Final = 4
FEWEST_UNITS: Final = 2
"""Units of a head: a single one looks the same in many orders."""
EXPLAINED: Final = 0.2
"""Share of the variance of results that the mean of their values explains, at least, if they are in the right order."""
GAIN: Final = 0.4
"""By how much that share differs between the right order and others, at least."""
WITHIN: Final = 0.97
"""Share of the results that lie between their values, at least; a dropout of weights takes some beyond."""
ROUNDING: Final = 1e-4
"""Rounding of results, relative to the largest value."""


@attrs.frozen
class HeadMixup:
    """How an attention mixes heads with places.

    Args:
        num_heads: The number of heads.
        at_split: Whether its inputs are split into heads by a reshape alone; else its results are joined by one.
    """

    num_heads: int
    at_split: bool


@attrs.frozen
class _Fit:
    """How well results are explained by values: the share of variance, and the share of results between the values."""

    explained: float
    within: float


def find_head_mixup(projected: Array, results: Array) -> HeadMixup | None:
    """Return how an attention over some values mixes heads with places; None if it does not, or cannot be told.

    Args:
        projected: What one layer makes of all places: values of shape (samples, places, units), or queries, keys and
            values side by side, of three times as many units.
        results: What the next layer takes: shape (samples, places, units).
    """
    if not _may_attend(projected, results):
        return None
    num_samples = max(1, MOST_NUMBERS // results[0].size)
    projected, results = to_float64(projected[:num_samples]), to_float64(results[:num_samples])
    if not (np.isfinite(projected).all() and np.isfinite(results).all() and np.ptp(results) > 0):
        return None
    sound = max(fit.explained for fit in _sound_orders(projected, results))
    if sound > 1 - GAIN:
        return None
    mixed, fit = max(_mixed_orders(projected, results), key=lambda found: found[1].explained)
    is_clear = fit.explained > max(EXPLAINED, sound + GAIN) and fit.within > WITHIN
    return mixed if is_clear else None


def _may_attend(projected: Array, results: Array) -> bool:
    if projected.ndim != 3 or results.ndim != 3 or len(projected) != len(results) or not len(results):
        return False
    units = results.shape[2]
    places = min(projected.shape[1], results.shape[1])
    return places >= FEWEST_PLACES and any(_numbers_of_heads(units)) and projected.shape[2] in (units, 3 * units)


def _numbers_of_heads(units: int) -> Iterator[int]:
    return (number for number in range(2, units // FEWEST_UNITS + 1) if units % number == 0)


def _parts(projected: Array, units: int) -> Iterator[Array]:
    """Yield what may be the values among numbers that are side by side."""
    for first in range(0, projected.shape[2], units):
        yield projected[:, :, first : first + units]


def _parts_of_heads(projected: Array, units: int, num_heads: int) -> Iterator[Array]:
    """Yield what may be the values, of shape (samples, places, heads, units of a head)."""
    samples, places, width = projected.shape
    for part in _parts(projected, units):
        yield part.reshape(samples, places, num_heads, -1)
    if width > units:  # queries, keys and values of each head side by side
        yield from np.moveaxis(projected.reshape(samples, places, num_heads, 3, -1), 3, 0)


def _sound_orders(projected: Array, results: Array) -> Iterator[_Fit]:
    """Yield the fits of all orders in which an attention mixes places only."""
    units = results.shape[2]
    for part in _parts(projected, units):
        yield _fit(part, results)
        if part.shape == results.shape:  # the places are along the first axis
            yield _fit(part.swapaxes(0, 1), results.swapaxes(0, 1))
    for num_heads in _numbers_of_heads(units):
        joined = results.reshape(*results.shape[:2], num_heads, -1)
        yield from (_fit(part, joined) for part in _parts_of_heads(projected, units, num_heads))


def _mixed_orders(projected: Array, results: Array) -> Iterator[tuple[HeadMixup, _Fit]]:
    """Yield the fits of orders that come from a reshape where axes were to be moved."""
    (samples, places, units), length = results.shape, projected.shape[1]
    for num_heads in _numbers_of_heads(units):
        joined = results.reshape(samples, places, num_heads, -1)
        mixed = results.reshape(samples, num_heads, places, -1).swapaxes(1, 2)
        for part in _parts_of_heads(projected, units, num_heads):
            yield HeadMixup(num_heads, at_split=False), _fit(part, mixed)
        for part in _parts(projected, units):
            split = part.reshape(samples, num_heads, length, -1).swapaxes(1, 2)
            yield HeadMixup(num_heads, at_split=True), _fit(split, joined)
            yield HeadMixup(num_heads, at_split=True), _fit(split, mixed)


def _fit(values: Array, results: Array) -> _Fit:
    """Compare results with the values, places along axis 1."""
    mean = values.mean(axis=1, keepdims=True)
    explained = 1 - np.sum((results - mean) ** 2) / np.sum((results - results.mean()) ** 2)
    room = ROUNDING * np.abs(values).max()
    is_within = (results >= values.min(axis=1, keepdims=True) - room) & (
        results <= values.max(axis=1, keepdims=True) + room
    )
    return _Fit(float(explained), float(is_within.mean()))
