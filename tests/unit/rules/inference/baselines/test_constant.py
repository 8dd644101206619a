"""The best constants for each place of samples, and targets that none is compared with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.baselines.constant import are_of_objects, error_of_places


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(10, 30))
def test_each_class_is_predicted_from_the_other_samples(seed, num_classes, num_places):
    """A sample without itself, with the weight of one sample for the shares at all places."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, num_classes, (120, num_places)), axis=0)
    shares = [np.mean(rows == label) for label in range(num_classes)]
    errors = [
        -math.log((np.sum(rows[:, place] == label) - 1 + shares[label]) / len(rows))
        for row in rows
        for place, label in enumerate(row)
    ]
    assert error_of_places(rng.permutation(rows)) == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("num_classes", [2, 5, 20, 300])
@pytest.mark.parametrize("rare", [0.0, 0.01])
@pytest.mark.parametrize("num_samples", [100, 400])
def test_the_error_is_never_too_small(num_classes, rare, num_samples):
    """So that a model that knows no more than the places is accused, and no other."""
    rng = np.random.default_rng(0)
    shares = np.full(num_classes, rare) if rare else np.ones(num_classes)
    shares = np.where(np.arange(num_classes) == 0, max(1 - rare * (num_classes - 1), 0.1), shares)
    shares = shares / shares.sum()
    classes = rng.choice(num_classes, p=shares, size=(num_samples, 800))
    assert error_of_places(classes) > 0.99 * -np.sum(shares * np.log(shares))


def test_places_are_spread_over_wide_pictures():
    """Those of one column would say nothing of the others: at the edge there may be nothing but background."""
    pictures = np.random.default_rng(0).integers(0, 2, (200, 16, 512))
    pictures[:, :, 0] = 0
    assert error_of_places(pictures.reshape(200, -1)) > 0.6


@pytest.mark.parametrize(("num_different", "is_known"), [(99, False), (100, True)])
def test_few_different_samples_tell_nothing_of_places(num_different, is_known):
    """However often they come."""
    rows = np.random.default_rng(0).integers(0, 2, (num_different, 40))
    assert math.isfinite(error_of_places(np.tile(rows, (3, 1)))) == is_known


@pytest.mark.parametrize(("num_classes", "is_known"), [(8000, True), (9000, False)])
def test_many_classes_are_not_counted_at_each_place(num_classes, is_known):
    """There are too few samples for them anyway."""
    rows = np.arange(200 * 512).reshape(200, 512) % num_classes
    assert math.isfinite(error_of_places(rows)) == is_known


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (lambda flag, x: [flag, flag * x, flag * x**2, flag * x, flag * x], True),
        (lambda flag, x: [flag * x, flag * x**2, flag * x, flag * x, flag], True),
        (lambda flag, x: [flag, x, flag * x, flag * x, flag * x], False),  # a number beside the flag
        (lambda flag, x: [flag, flag * x, flag * x], False),  # an amount and a number, and whether there are any
        (lambda flag, _: [0 * flag] * 5, False),
        (lambda flag, x: [1 + 0 * flag, x, x, x, x], False),
        (lambda flag, _: [flag == number for number in range(5)], False),
        (lambda flag, _: [flag[:0]] * 5, False),
    ],
)
def test_targets_of_a_detector_are_zero_where_nothing_is(cell, expected):
    """Some column tells where something is."""
    rng = np.random.default_rng(0)
    flag, x = rng.integers(0, 2, (6, 3, 3)), rng.normal(size=(6, 3, 3))
    assert are_of_objects(np.stack(cell(flag, x), -1)) == expected
