"""Spread has the moments of all samples, however they come in batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.samples.spreads import Spread, is_scaled_otherwise, share_that_shifts


def spread_of(samples, *cuts):
    spread = Spread()
    for batch in np.split(samples, sorted(cuts)):
        if len(batch):
            spread.add(batch)
    return spread


@given(st.integers(0, 1000), st.lists(st.integers(0, 50), max_size=5), st.floats(-1e3, 1e3))
def test_moments_are_those_of_all_batches_together(seed, cuts, centre):
    """Mean, deviation, root mean square, and the deviation of squared distances from the mean."""
    samples = centre + np.random.default_rng(seed).normal(size=(50, 3))
    spread = spread_of(samples, *cuts)
    squares = (samples - samples.mean(axis=0)) ** 2
    np.testing.assert_allclose(spread.mean, samples.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(spread.deviation, samples.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(spread.deviation_of_squares, squares.std(axis=0), rtol=1e-4)
    assert spread.root_mean_square == pytest.approx(np.sqrt(np.mean(samples**2)))


@pytest.mark.parametrize(("factor", "expected"), [(1.0, False), (2.5, False), (4.0, True), (0.25, True)])
def test_another_scale_is_that_of_nearly_all_features(factor, expected):
    """Either set may be the wider one."""
    samples = np.random.default_rng(0).normal(size=(200, 10))
    assert is_scaled_otherwise(spread_of(samples[:100]), spread_of(factor * samples[100:])) == expected


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.0), (0.9, 0.0), (2.0, 0.3)])
def test_means_have_to_be_apart_by_deviations(shift, share):
    """Three of ten features are moved."""
    samples = np.random.default_rng(0).normal(size=(200, 10))
    samples[100:, :3] += shift
    assert share_that_shifts(spread_of(samples[:100]), spread_of(samples[100:]), 1.0) == pytest.approx(share)
