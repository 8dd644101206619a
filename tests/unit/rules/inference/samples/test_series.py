"""TimeOrder tells the windows of a series from other samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.samples.series import FEWEST_PAIRS, TimeOrder


def windows(length, axis, number=40):
    series = np.cumsum(np.random.default_rng(0).normal(size=number + length)).astype(np.float32)
    samples = np.stack([series[start : start + length] for start in range(number)])
    targets = series[length:][:, None]
    return {"flat": samples, "last": samples[:, None, :], "first": samples[:, :, None]}[axis], targets


def is_kept(samples, targets, batch):
    order = TimeOrder()
    for start in range(0, len(samples), batch):
        part = slice(start, start + batch)
        order.observe(samples[part], None if targets is None else targets[part])
    return order.is_kept


@given(st.integers(2, 12), st.sampled_from(["flat", "last", "first"]), st.integers(1, 41))
def test_windows_in_order_are_a_series_in_batches_of_any_size(length, axis, batch):
    """Overlapping windows are a series without their targets."""
    assert is_kept(windows(length, axis)[0], None, batch)


@pytest.mark.parametrize(("knows_targets", "expected"), [(True, True), (False, False)])
def test_windows_of_one_step_need_their_targets(knows_targets, expected):
    """A window of a single step is followed by one that holds its target."""
    samples, targets = windows(1, "first")
    assert is_kept(samples, targets if knows_targets else None, 8) == expected


@pytest.mark.parametrize("length", [1, 6])
def test_windows_that_are_shuffled_are_no_series(length):
    """Windows in another order are not."""
    samples, targets = windows(length, "first")
    order = np.random.default_rng(1).permutation(len(samples))
    assert not is_kept(samples[order], targets[order], 8)


def test_equal_samples_are_no_series():
    """Samples without any change have no order."""
    assert not is_kept(np.ones((40, 6)), np.ones((40, 1)), 8)


@pytest.mark.parametrize(("number", "expected"), [(FEWEST_PAIRS, False), (FEWEST_PAIRS + 1, True)])
def test_few_windows_show_no_series(number, expected):
    """At least eight pairs are needed."""
    assert is_kept(windows(4, "flat", number)[0], None, 3) == expected
