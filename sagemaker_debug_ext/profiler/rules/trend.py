"""Steady trends: slopes that single jumps and outliers do not change."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.profiler.rules.slices import Floats

_MAX_POINTS: Final = 300


class Trend(NamedTuple):
    """A trend of values over time.

    Attributes:
        slope: Median slope of all pairs of points (Theil-Sen), in units of the values per unit of time.
        rising: Share of the pairs whose later value is higher.
    """

    slope: float
    rising: float


def find_trend(times: Floats, values: Floats) -> Trend | None:
    """Return the trend of some points; None for fewer than three.

    Args:
        times: Shape ``(n,)``, in any order.
        values: Shape ``(n,)``.
    """
    if len(times) > _MAX_POINTS:
        chosen = np.linspace(0, len(times) - 1, _MAX_POINTS).astype(int)
        times, values = times[chosen], values[chosen]
    left, right = np.triu_indices(len(times), 1)
    spans = times[right] - times[left]
    is_apart = spans != 0
    if len(times) < 3 or not is_apart.any():
        return None
    slopes = (values[right] - values[left])[is_apart] / spans[is_apart]
    return Trend(float(np.median(slopes)), float(np.mean(slopes > 0)))
