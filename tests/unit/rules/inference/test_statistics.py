"""Statistics of tensors are computed in double precision."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.statistics import mean_abs, variance


def test_variance_of_half_precision_does_not_overflow():
    """The variance is computed in double precision."""
    assert variance(np.array([60000, -60000], np.float16)) == 60000.0**2


def test_mean_abs_of_half_precision_does_not_overflow():
    """The sum of absolute values is computed in double precision."""
    assert mean_abs(np.full(10_000, 60_000, np.float16)) == 60_000 - 60_000 % 32


def test_mean_abs_of_the_least_integer_is_positive():
    """The absolute value of -128 in int8 is 128."""
    assert mean_abs(np.array([-128], np.int8)) == 128


MAGNITUDES = st.floats(-1e300, 1e300).filter(lambda number: number == 0 or abs(number) > 1e-280)  # not rounded to 0


@given(st.lists(MAGNITUDES, min_size=1, max_size=20), st.floats(0, 1e300))
def test_the_mean_equals_that_of_exact_arithmetic_except_at_a_limit(values: list[float], threshold: float):
    """The mean is on the same side of any limit as that of exact arithmetic, which does not overflow."""
    exact = sum(abs(value) / len(values) for value in values)
    if not np.isclose(exact, threshold, rtol=1e-9, atol=0):
        assert (mean_abs(np.array(values)) < threshold) == (exact < threshold)
