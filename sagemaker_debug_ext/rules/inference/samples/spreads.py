"""Means and standard deviations of features over many batches, and how those of two sets of samples differ."""

from __future__ import annotations

import math
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.reading.numeric import root_mean_square

Numbers = npt.NDArray[np.float64]

TIMES: Final = 3
"""Ratio of the deviations of nearly all features, all in the same way, that shows another scale."""
NEARLY_ALL: Final = 0.95
MOST: Final = 0.75
SELDOM: Final = 0.5
"""Fraction of the usual deviation of features below which a difference in deviation is ignored."""


@attrs.define
class Spread:
    """Mean and standard deviation of each feature, over all batches so far."""

    count: int = 0
    _center: Numbers | float = 0.0
    _sums: list[Numbers | float] = attrs.field(factory=lambda: [0.0] * 4)
    """Sums of the powers 1 to 4 of the distances from the mean of the first batch."""

    @classmethod
    def of(cls, batch: Numbers) -> Spread:
        """Return the spread of a single batch."""
        spread = cls()
        spread.add(batch)
        return spread

    def add(self, batch: Numbers) -> None:
        """Add a batch."""
        if not self.count:
            self._center = batch.mean(axis=0)
        self.count += len(batch)
        apart = batch - self._center
        power = apart
        for index in range(4):
            self._sums[index] = self._sums[index] + power.sum(axis=0)
            power = power * apart

    @property
    def mean(self) -> Numbers:
        """Mean of each feature."""
        return np.asarray(self._center + self._sums[0] / self.count)

    @property
    def variance(self) -> Numbers:
        """Variance of each feature."""
        first, second = (np.asarray(total / self.count) for total in self._sums[:2])
        return np.asarray(np.maximum(second - first**2, 0))

    @property
    def deviation(self) -> Numbers:
        """Standard deviation of each feature."""
        return np.sqrt(self.variance)

    @property
    def root_mean_square(self) -> float:
        """Root mean square over all features."""
        return math.hypot(root_mean_square(self.mean), root_mean_square(self.deviation))

    @property
    def excess_over_two_values(self) -> Numbers:
        """Kurtosis minus the squared skewness minus 1 of each feature, which is 0 for features with two values only.

        0 for constant features. Source: Pearson's inequality.
        """
        first, second, third, fourth = (np.asarray(total / self.count) for total in self._sums)
        of_third = third - 3 * first * second + 2 * first**3
        of_fourth = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        variance = np.where(self.variance > 0, self.variance, 1)
        excess = of_fourth / variance**2 - of_third**2 / variance**3 - 1
        return np.asarray(np.where(self.variance > 0, excess, 0))

    @property
    def deviation_of_squares(self) -> Numbers:
        """Standard deviation of the squares that make each variance: large if a few samples make most of it."""
        first, second, third, fourth = (np.asarray(total / self.count) for total in self._sums)
        central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return np.asarray(np.sqrt(np.maximum(central - self.variance**2, 0)))


def share_that_differs(one: Spread, other: Spread, limit: float) -> float:
    """Return the fraction of features whose means differ by more than `limit` deviations, or deviations by 4 times.

    All features differ if the deviations of nearly all are 3 times as large in the same one of both.

    The means, and the variances, must also differ by three times their standard error. That of both variances follows
    from the larger deviation of squares, because what is seldom may not be among the fewer samples at all.
    """
    larger, smaller = np.maximum(one.deviation, other.deviation), np.minimum(one.deviation, other.deviation)
    # a nearly constant feature, such as a pixel at the edge, may differ in a few samples by chance
    usual = min(root_mean_square(one.deviation), root_mean_square(other.deviation))
    is_wider = larger > 4 * smaller + SELDOM * usual + 1e-12
    is_off = _has_shifted(one, other, limit) | (is_wider & _varies_otherwise(one, other))
    return 1.0 if is_scaled_otherwise(one, other) else float(np.mean(is_off))


def is_scaled_otherwise(one: Spread, other: Spread) -> bool:
    """Return whether the deviations of nearly all features are 3 times as large in the same one of both.

    Those of most must be so beyond the error, as one that a few samples make is not.
    """
    is_beyond_error = _varies_otherwise(one, other)
    for wider, narrower in ((one, other), (other, one)):
        is_wider = wider.deviation > TIMES * narrower.deviation
        if float(np.mean(is_wider)) > NEARLY_ALL and float(np.mean(is_wider & is_beyond_error)) > MOST:
            return True
    return False


def _varies_otherwise(one: Spread, other: Spread) -> npt.NDArray[np.bool_]:
    """Return for each feature whether both variances differ by more than three times their standard error."""
    of_squares = np.maximum(one.deviation_of_squares, other.deviation_of_squares)
    is_beyond: npt.NDArray[np.bool_] = (
        np.abs(one.variance - other.variance) > 3 * _standard_error(one, other) * of_squares
    )
    return is_beyond


def share_that_shifts(one: Spread, other: Spread, limit: float) -> float:
    """Return the fraction of features whose means differ by more than `limit` deviations, and beyond the error."""
    return float(np.mean(_has_shifted(one, other, limit)))


def _has_shifted(one: Spread, other: Spread, limit: float) -> npt.NDArray[np.bool_]:
    pooled = np.sqrt((one.deviation**2 + other.deviation**2) / 2) + 1e-12
    has_shifted: npt.NDArray[np.bool_] = (
        np.abs(one.mean - other.mean) > (limit + 3 * _standard_error(one, other)) * pooled
    )
    return has_shifted


def _standard_error(one: Spread, other: Spread) -> float:
    """Return the standard error of a difference of means, in deviations."""
    return math.sqrt(1 / one.count + 1 / other.count)
