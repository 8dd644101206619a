"""Percentiles and windows in bounded memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from sagemaker_debug_ext.profiler.rules.slices import Floats

_BINS_PER_PERCENT: Final = 100
_GROWTH: Final = 1.005
_OFFSET: Final = 1e-3


class PercentHistogram:
    """Counts of values from 0 to 100, to two decimals, which is how they are recorded.

    Percentiles are interpolated linearly between values, as `numpy.percentile` does, and are exact for values of two
    decimals.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(100 * _BINS_PER_PERCENT + 1, dtype=np.int64)

    def add(self, values: Floats) -> None:
        """Count some values."""
        places = np.rint(np.clip(values, 0, 100) * _BINS_PER_PERCENT).astype(np.int64)
        np.add.at(self._counts, places, 1)

    def __len__(self) -> int:
        return int(self._counts.sum())

    def percentiles(self, *ranks: float) -> list[float]:
        """Return percentiles; zeros without values."""
        return [value / _BINS_PER_PERCENT for value in _interpolate(self._counts, ranks)]

    def box(self) -> dict[str, float]:
        """Return the numbers of a box plot: quartiles, p95, and whiskers of 1.5 times the box."""
        smallest, lower, middle, upper, high, largest = self.percentiles(0, 25, 50, 75, 95, 100)
        reach = 1.5 * (upper - lower)
        return {
            "p25": lower,
            "p50": middle,
            "p75": upper,
            "p95": high,
            "upper": min(largest, upper + reach),
            "lower": max(smallest, lower - reach),
        }

    def counts(self, width: float) -> list[int]:
        """Return counts per bin of a width in percent; the last bin is closed at 100."""
        edges = np.minimum(np.arange(self._counts.size) / (width * _BINS_PER_PERCENT), 100 / width - 1).astype(np.int64)
        summed = np.bincount(edges, weights=self._counts.astype(np.float64))
        return [int(count) for count in summed]


class PositiveHistogram:
    """Counts of values of any size, with a relative error of a quarter percent; the largest and smallest are exact."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)
        self._smallest, self._largest = np.inf, -np.inf

    def add(self, values: Floats) -> None:
        """Count some values of at least 0."""
        if not values.size:
            return
        places = np.floor(np.log(np.maximum(values, 0) / _OFFSET + 1) / np.log(_GROWTH)).astype(np.int64)
        missing = int(places.max()) + 1 - self._counts.size
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing, dtype=np.int64)])
        np.add.at(self._counts, places, 1)
        self._smallest = min(self._smallest, float(values.min()))
        self._largest = max(self._largest, float(values.max()))

    def percentiles(self, *ranks: float) -> list[float]:
        """Return percentiles; zeros without values."""
        if not self._counts.sum():
            return [0.0 for _ in ranks]
        found = []
        for place in _interpolate(self._counts, ranks):
            value = (_GROWTH ** (place + 0.5) - 1) * _OFFSET if place else 0.0
            found.append(float(min(max(value, self._smallest), self._largest)))
        return [
            self._smallest if rank == 0 else self._largest if rank == 100 else value
            for rank, value in zip(ranks, found, strict=True)
        ]


def _interpolate(counts: np.ndarray, ranks: tuple[float, ...]) -> list[float]:
    """Return the bins at some percent of the count, interpolated between neighbours."""
    total = int(counts.sum())
    if not total:
        return [0.0 for _ in ranks]
    ends = np.cumsum(counts)
    found = []
    for rank in ranks:
        position = rank / 100 * (total - 1)
        low, high = int(np.floor(position)), int(np.ceil(position))
        below, above = (int(np.searchsorted(ends, place, side="right")) for place in (low, high))
        found.append(below + (above - below) * (position - low))
    return found


class Window:
    """The newest values and their times.

    Args:
        size: Number of points to keep.

    Attributes:
        count: Number of points added so far.
        times: Seconds since 1970 of the kept values.
        values: The kept values.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.count = 0
        self.times: Floats = np.empty(0)
        self.values: Floats = np.empty(0)

    def add(self, times: Floats, values: Floats) -> None:
        """Add values at the end."""
        self.count += values.size
        self.times = np.concatenate([self.times, times])[-self._size :]
        self.values = np.concatenate([self.values, values])[-self._size :]

    @property
    def seconds(self) -> float:
        """The time from the first to the last kept value."""
        return float(self.times[-1] - self.times[0]) if self.times.size else 0.0
