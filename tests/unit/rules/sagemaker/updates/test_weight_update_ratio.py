"""WeightUpdateRatio fires when a weight changes too much or too little in relation to its size."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.sagemaker.updates.weight_update_ratio import earlier_step
from support.rule_trials import EVAL, TRAIN, fired_at, steps_with


@pytest.mark.parametrize(
    ("num_steps", "step", "found"),
    [(None, 30, 20), (None, 0, None), (25, 30, 10), (10, 30, 20), (9, 30, None), (100, 30, 0), (30, 30, 0)],
)
def test_the_reference_is_the_previous_or_the_earliest_within_reach(num_steps, step, found):
    """The reference is the previous saved step, or the earliest one within `num_steps` inclusive."""
    assert earlier_step([0, 10, 20, 30], step, num_steps) == found


@pytest.mark.parametrize(("factor", "fires"), [(1.0, True), (1.0001, False), (10.5, False), (11.5, True)])
def test_both_limits_are_strict(run_rule, factor, fires):
    """A ratio above the large or below the small threshold fires, and an unchanged weight has the ratio 0."""
    issues = run_rule("WeightUpdateRatio", steps_with("w_weight", [np.ones(3), np.ones(3) * factor]))
    assert fired_at(issues) == ([1] if fires else [])


def test_a_change_of_shape_gives_no_verdict(run_rule):
    """The first saved step and a change of shape give no verdict."""
    assert run_rule("WeightUpdateRatio", steps_with("w_weight", [np.ones(3), np.ones(4)])) == []


def test_distances_count_within_training(run_rule):
    """Distances are counted in training steps, so EVAL steps in between are ignored."""
    steps = {}
    for step in range(4):
        steps[TRAIN, step] = {"w_weight": np.full(2, 10.0**step)}
        steps[EVAL, step] = {"w_weight": np.zeros(2)}
    issues = run_rule("WeightUpdateRatio", steps, num_steps=2, large_threshold=98)
    assert [(issue.mode, issue.mode_step, round(issue.value)) for issue in issues] == [
        (TRAIN, 2, 99),
        (TRAIN, 3, 99),
    ]


def test_a_frozen_weight_is_named_before_a_slow_one(run_rule):
    """The weight that changes least is named first."""
    steps = {(TRAIN, step): {"a_weight": 1 + 1e-9 * np.full(1, step), "b_weight": np.ones(1)} for step in range(2)}
    (issue,) = run_rule("WeightUpdateRatio", steps)
    assert issue.tensors == ("b_weight", "a_weight")


def test_evaluation_may_begin_in_the_middle(make_trial):
    """Evaluation from a later step compares it with the steps before."""
    trial = make_trial(steps_with("w_weight", [np.ones(3)] * 4))
    issues = evaluate([create_rule("WeightUpdateRatio", trial)], trial, start_step=2).run()
    assert fired_at(issues) == [2, 3]
