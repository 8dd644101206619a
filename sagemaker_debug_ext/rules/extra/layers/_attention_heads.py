"""Tell from its numbers whether an attention of several heads mixes heads with places.

Weights of an attention are not negative and add up to 1 over the places. So each result lies between the values of its
unit, and near their mean as long as the weights are nearly uniform, as they usually are at first. A reshape in place of
a transpose hands results to other units and places. Then this holds only once the reshape has been undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64

MOST_NUMBERS: Final = 1 << 14
"""Numbers of a tensor to look at, of whole samples."""
LONGEST_SAMPLE: Final = 1 << 21
"""Numbers of a single sample beyond which it would take too long."""
FEWEST_NUMBERS: Final = 256
"""Results that fewer numbers explain may do so by chance."""
FEWEST_PLACES: Final = 4
FEWEST_UNITS: Final = 2
"""Units of a head: a single one looks the same in many orders."""
MOST_HEADS: Final = 16
GAIN: Final = 0.4
"""By how much more of the variance of results a reshape must explain than sound layers do."""
WITHIN: Final = 0.97
"""Share of the results that lie between their values, at least; a dropout of weights takes some beyond."""
ROUNDING: Final = 1e-4
"""Rounding of results, relative to the largest value."""


@attrs.frozen
class HeadMixup:
    """How an attention mixes heads with places.

    Args:
        source: The name of its values.
        num_heads: The number of heads.
        at_split: Whether a reshape splits its values into heads; else one joins its results only.
    """

    source: str
    num_heads: int
    at_split: bool


def find_head_mixup(projected: Mapping[str, Array], results: Array) -> HeadMixup | None:
    """Return how an attention mixes heads with places; None if it does not, or cannot be told.

    Args:
        projected: What layers make of all places: queries, keys and values of shape (samples, places, units), or all of
            them side by side, of three times as many units.
        results: What the next layer takes: shape (samples, places, units).
    """
    sources = {name: made for name, made in projected.items() if may_attend(made, results)}
    if not sources:
        return None
    num_samples = max(1, MOST_NUMBERS // max(results[0].size, *(made[0].size for made in sources.values())))
    results = to_float64(results[:num_samples])
    sources = {name: to_float64(made[:num_samples]) for name, made in sources.items()}
    if results.size < FEWEST_NUMBERS or not all(np.isfinite(numbers).all() for numbers in (results, *sources.values())):
        return None
    with np.errstate(all="ignore"):  # numbers near the limits of floats explain nothing
        sound = max(share for made in sources.values() for share in _sound_shares(made, results))
        if not sound < 1 - GAIN:
            return None
        orders = (order for name, made in sources.items() for order in _mixed_orders(name, made, results))
        mixup, values, mixed = max(orders, key=lambda order: _explained_share(*order[1:]))
        is_clear = _explained_share(values, mixed) > max(sound, 0) + GAIN and _share_within(values, mixed) > WITHIN
    return mixup if is_clear else None


def may_attend(made: Array, results: Array) -> bool:
    """Return whether results may, by their shapes, be those of an attention over what a layer makes."""
    if made.ndim != 3 or results.ndim != 3 or not 0 < len(made) == len(results):
        return False
    if max(made[0].size, results[0].size) > LONGEST_SAMPLE or min(made.shape[1], results.shape[1]) < FEWEST_PLACES:
        return False
    units = results.shape[2]
    return made.shape[2] in (units, 3 * units) and any(_numbers_of_heads(units))


def _numbers_of_heads(units: int) -> Iterator[int]:
    most = min(MOST_HEADS, units // FEWEST_UNITS)
    return (number for number in range(2, most + 1) if units % number == 0)


def _parts(made: Array, units: int) -> list[Array]:
    """Return what may be the values among numbers that are side by side."""
    return [made[:, :, first : first + units] for first in range(0, made.shape[2], units)]


def _parts_by_head(made: Array, units: int, num_heads: int) -> list[Array]:
    """Return the same where queries, keys and values of each head are side by side; empty for values alone.

    Shapes are (samples, places, heads, units of a head).
    """
    if made.shape[2] == units:
        return []
    return list(np.moveaxis(made.reshape(*made.shape[:2], num_heads, 3, -1), 3, 0))


def _sound_shares(made: Array, results: Array) -> Iterator[float]:
    """Yield the shares of the variance that layers explain which mix places only, or nothing."""
    units = results.shape[2]
    for part in _parts(made, units):
        yield _explained_share(part, results)
        if part.shape == results.shape:
            yield _squared_correlation(part, results)  # an activation, or nothing, between two layers
    for num_heads in _numbers_of_heads(units):
        joined = results.reshape(*results.shape[:2], num_heads, -1)
        for part in _parts_by_head(made, units, num_heads):
            yield _explained_share(part, joined)


def _mixed_orders(name: str, made: Array, results: Array) -> Iterator[tuple[HeadMixup, Array, Array]]:
    """Yield each mixup with the values and results, places along axis 1, that belong together if it is one."""
    (samples, places, units), length = results.shape, made.shape[1]
    for num_heads in _numbers_of_heads(units):
        joined = results.reshape(samples, places, num_heads, -1)
        mixed = results.reshape(samples, num_heads, places, -1).swapaxes(1, 2)
        parts = _parts(made, units)
        by_head = [part.reshape(samples, length, num_heads, -1) for part in parts]
        for part in (*by_head, *_parts_by_head(made, units, num_heads)):
            yield HeadMixup(name, num_heads, at_split=False), part, mixed
        for part in parts:
            split = part.reshape(samples, num_heads, length, -1).swapaxes(1, 2)
            yield HeadMixup(name, num_heads, at_split=True), split, joined
            yield HeadMixup(name, num_heads, at_split=True), split, mixed


def _explained_share(values: Array, results: Array) -> float:
    """Return the share of the variance of results that means of values over places explain; 1 for constant results."""
    variance = float(np.sum((results - results.mean()) ** 2))
    return 1 - float(np.sum((results - values.mean(axis=1, keepdims=True)) ** 2)) / variance if variance > 0 else 1.0


def _share_within(values: Array, results: Array) -> float:
    """Return the share of the results that lie between the values of their units."""
    room = ROUNDING * np.abs(values).max()
    least, most = values.min(axis=1, keepdims=True) - room, values.max(axis=1, keepdims=True) + room
    return float(((results >= least) & (results <= most)).mean())


def _squared_correlation(values: Array, results: Array) -> float:
    values, results = values - values.mean(), results - results.mean()
    scale = np.sum(values**2) * np.sum(results**2)
    return float(np.sum(values * results) ** 2 / scale) if scale > 0 else 0.0
