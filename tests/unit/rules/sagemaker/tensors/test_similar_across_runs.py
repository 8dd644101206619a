"""SimilarAcrossRuns fires when a tensor differs from the same tensor of another trial."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sagemaker_debug_ext.rules.sagemaker.tensors.similar_across_runs import times_tolerance
from sagemaker_debug_ext.testing.trials import write_trial
from support.rule_trials import TRAIN, fired_at


@pytest.mark.parametrize(
    ("mine", "other", "fires"),
    [
        (1.0, 1.0, False), (1.0, 1.000009, False), (1.0, 1.0001, True), (math.nan, math.nan, False),
        (math.inf, math.inf, False), (math.inf, 1.0, True), (math.nan, 1.0, True), ([1.0], [[1.0]], True),
        ([1.0, 2.0], [1.0, 3.0], True),
    ],
)  # fmt: skip
def test_elements_must_agree_within_the_tolerance(mine, other, fires):
    """Elements agree as in `numpy.allclose` with NaN equal to NaN, and another shape is a difference."""
    mine, other = np.array(mine), np.array(other)
    assert (times_tolerance(mine, other) > 1) == fires
    same_shape = mine.shape == other.shape
    assert fires != (same_shape and np.allclose(mine, other, rtol=1e-5, atol=1e-8, equal_nan=True))


@pytest.mark.parametrize(("mine", "fires"), [(1.000009, False), (1.0001, True)], ids=["within", "beyond"])
def test_tensors_when_beyond_the_tolerance_then_fire(run_rule, tmp_path, mine, fires):
    """A difference within the tolerance does not fire, and one beyond it does."""
    write_trial(tmp_path / "other", {(TRAIN, 0): {"x": np.ones(3)}})
    steps = {(TRAIN, 0): {"x": np.array([1.0, mine, 1.0])}}
    issues = run_rule("SimilarAcrossRuns", steps, other_trials=str(tmp_path / "other"))
    assert fired_at(issues) == ([0] if fires else [])


def test_steps_and_tensors_of_one_trial_only_give_no_verdict(run_rule, tmp_path):
    """Only steps and tensors that both trials have are compared."""
    write_trial(tmp_path / "other", {(TRAIN, 0): {"x": 1.0, "z": 1.0}, (TRAIN, 1): {"x": 2.0}})
    steps = {(TRAIN, 0): {"x": 1.0, "y": 5.0}, (TRAIN, 1): {"x": 2.5, "y": 5.0}, (TRAIN, 2): {"x": 9.0}}
    issues = run_rule("SimilarAcrossRuns", steps, other_trial_0=str(tmp_path / "other"))
    assert [(issue.step, issue.tensors) for issue in issues] == [(1, ("x",))]


def test_a_run_equals_itself(make_trial, run_rule):
    """A trial does not differ from itself, even with NaN, infinities and texts."""
    trial = make_trial({(TRAIN, 0): {"x": np.array([1, math.nan, math.inf]), "text": np.array(["a"])}})
    assert run_rule("SimilarAcrossRuns", trial, other_trials=trial.path) == []


def test_only_selected_tensors_are_compared(run_rule, tmp_path):
    """Only tensors of the selected collection or pattern are compared."""
    write_trial(tmp_path / "other", {(TRAIN, 0): {"gradient/a": 1.0, "b": 1.0}})
    steps = {(TRAIN, 0): {"gradient/a": 2.0, "b": 2.0}}
    (issue,) = run_rule("SimilarAcrossRuns", steps, other_trials=str(tmp_path / "other"), collection_names="gradients")
    assert issue.tensors == ("gradient/a",)
