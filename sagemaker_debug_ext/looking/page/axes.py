"""Axes of charts: scales from numbers to places, and round numbers for ticks."""

from __future__ import annotations

import math
import sys
from typing import Final

import attrs

_LARGEST: Final = 1e300
"""Larger numbers are drawn as this one, because the distance between two of them would be infinite."""


@attrs.frozen
class Scale:
    """A scale from numbers to places on the page.

    Args:
        low: The number at `begin`.
        high: The number at `end`.
        begin: A place.
        end: Another place.
        is_log: Whether the logarithm of the numbers is even.
        has_zero: Whether `low` stands for 0 on such a scale.
    """

    low: float
    high: float
    begin: float
    end: float
    is_log: bool = False
    has_zero: bool = False

    def place(self, number: float) -> float:
        """Return the place of a number."""
        if self.has_zero:
            number = max(number, self.low)
        low, high, at = (math.log10(n) if self.is_log else n for n in (self.low, self.high, _bounded(number)))
        return self.begin + (at - low) / ((high - low) or 1.0) * (self.end - self.begin)

    def ticks(self, count: int) -> list[float]:
        """Return about so many round numbers within the scale."""
        if self.is_log:
            decades = range(
                math.ceil(math.log10(self.low) - 1e-9) + self.has_zero, math.floor(math.log10(self.high) + 1e-9) + 1
            )
            if len(decades) > 1:
                return [10.0**power for power in decades[:: max(1, math.ceil(len(decades) / count))]]
        rough = (self.high - self.low) / count
        if not sys.float_info.min <= rough < math.inf:  # smaller numbers lose their digits where they are divided
            return [self.low]
        power = 10.0 ** math.floor(math.log10(rough))
        size = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        first = math.ceil(self.low / size - 1e-9)
        last = math.floor(self.high / size + 1e-9)
        return [number * size for number in range(first, last + 1)]


def value_scale(low: float, high: float, begin: float, end: float, least: float | None = None) -> Scale:
    """Return a scale for values, logarithmic where all are positive and span a factor of thirty or more.

    The scale of a positive value that never changes begins at 0.

    Args:
        low: The lowest value.
        high: The highest value.
        begin: Place of the low end.
        end: Place of the high end.
        least: The lowest positive value. If it spans three decades with the highest, a `low` of 0 is below them all.
    """
    low, high = _bounded(low), _bounded(high)
    if low > 0 and high / low >= 30:
        return Scale(low, high, begin, end, is_log=True)
    if low == 0 and least and high / least >= 1000:
        return Scale(10.0 ** (math.floor(math.log10(least)) - 1), high, begin, end, is_log=True, has_zero=True)
    if low == high > 0:
        return Scale(0, _bounded(1.25 * high), begin, end)
    margin = (high - low) * 0.05 or abs(high) * 0.5 or 1.0
    return Scale(low - margin, high + margin, begin, end)


def _bounded(number: float) -> float:
    return min(max(number, -_LARGEST), _LARGEST)
