"""UnchangedTensor fires when the latest saved values of a tensor agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sagemaker_debug_ext.rules.sagemaker.tensors.unchanged_tensor import is_close
from support.rule_trials import EVAL, TRAIN, fired_at, steps_with


def test_the_latest_saved_values_must_agree(run_rule):
    """Three equal values in a row fire by default, and a change resets the count."""
    issues = run_rule("UnchangedTensor", steps_with("x", [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), tensor_regex="x")
    assert fired_at(issues) == [2, 3, 6]


def test_gaps_between_saved_values_do_not_matter(run_rule):
    """Saved values are compared whatever the number of steps between them."""
    steps = {(TRAIN, step): {"y": 1.0} if step % 2 else {"x": 1.0} for step in range(7)}
    assert fired_at(run_rule("UnchangedTensor", steps, tensor_regex="x")) == [4, 6]


def test_values_of_other_modes_do_not_count(run_rule):
    """Only values of the step's own mode are compared."""
    steps = {}
    for step in range(3):
        steps[TRAIN, step] = {"x": 1.0}
        steps[EVAL, step] = {"x": float(step)}
    assert fired_at(run_rule("UnchangedTensor", steps, tensor_regex="x")) == [4]


@pytest.mark.parametrize(
    ("options", "fires"), [({}, False), ({"rtol": 0.1}, True), ({"atol": "0.2"}, True), ({"rtol": 0.04}, False)]
)
def test_tolerances_decide_what_a_change_is(run_rule, options, fires):
    """The relative tolerance is a part of the current value, and the absolute tolerance is added."""
    issues = run_rule("UnchangedTensor", steps_with("x", [1.9, 2.0]), tensor_regex="x", num_steps=2, **options)
    assert bool(issues) == fires


@pytest.mark.parametrize(("equal_nan", "fires"), [("False", False), ("True", True)])
def test_nan_agrees_with_nan_only_if_asked(run_rule, equal_nan, fires):
    """NaN differs from NaN unless `equal_nan` is set."""
    issues = run_rule("UnchangedTensor", steps_with("x", [math.nan] * 3), tensor_regex="x", equal_nan=equal_nan)
    assert bool(issues) == fires


def test_a_difference_of_shape_is_a_change():
    """Another shape is a change, even if the values could be broadcast."""
    assert not is_close(np.ones(1), np.ones(3), 0, 0, False)
