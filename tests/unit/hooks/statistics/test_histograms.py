"""Histograms hold every finite value in the bucket it belongs to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.hooks.statistics.histograms import histogram

numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, max_size=50))
def test_histogram_when_values_are_any_then_each_lies_in_its_bucket(values):
    """Counted by search, every bucket holds the same number; what is not finite is left out."""
    array = np.array(values, np.float32)
    finite = array[np.isfinite(array)].astype(np.float64)
    found = histogram(array)
    if not finite.size:
        assert found is None
        return
    assert (np.diff(found.limits) > 0).all()
    assert found.num == found.counts.sum() == finite.size
    assert (found.least, found.greatest) == (finite.min(), finite.max())
    with np.errstate(all="ignore"):
        assert found.total == pytest.approx(finite.sum(), rel=1e-4, abs=1e-5 * abs(finite).max())
    # Buckets of negative numbers include their left edge and those of positive ones do so too: off by an edge at most.
    edges = np.concatenate([[-np.inf], found.limits])
    for value in finite:
        at = int(np.searchsorted(found.limits, value, side="left"))
        near = {at, at + 1} if at + 1 < len(found.counts) and value == found.limits[at] else {at}
        assert any(found.counts[index] for index in near), (value, edges)


@pytest.mark.parametrize("size", [10, 8192, 8193, 70_000, 600_001])
def test_histogram_when_array_is_large_then_counts_agree_with_numpy(size):
    """Pieces and pairs count like a search does."""
    values = np.random.default_rng(size).normal(size=size).astype(np.float32)
    values[-3:] = -9, 9, 0.5
    found = histogram(values)
    assert (found.least, found.greatest, found.num) == (-9, 9, size)
    assert found.total == pytest.approx(float(values.astype(np.float64).sum()), rel=1e-3)
    expected, _ = np.histogram(values, np.concatenate([[-np.inf], np.nextafter(found.limits, np.inf)]))
    np.testing.assert_allclose(found.counts, expected, atol=1)
    assert found.squares == pytest.approx(float((values.astype(np.float64) ** 2).sum()), rel=1e-5)


@pytest.mark.parametrize("array", [np.zeros(0), np.array(["a"]), np.ones(2, bool), np.ones(2, complex)], ids=str)
def test_histogram_when_there_are_no_real_numbers_then_is_none(array):
    """Texts, truth values, complex numbers and nothing at all have no histogram."""
    assert histogram(array) is None


def test_histogram_when_values_are_equal_then_has_one_bucket():
    """A constant fills one bucket, whose left edge an empty one marks."""
    found = histogram(np.full((3, 4), 2.5))
    assert found.counts.tolist() == [0, 12]
    assert found.limits[0] <= 2.5 < found.limits[1]


def test_histogram_when_numbers_are_whole_then_counts_them():
    """Whole numbers are spread like others."""
    found = histogram(np.array([0, 1, 1, -3], np.int64))
    assert (found.num, found.least, found.greatest, found.total) == (4, -3.0, 1.0, -1.0)
