"""TreeGrowth fires when boosted trees cannot learn, or learn what validation data do not confirm."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import GLOBAL, first_cause, steps_of


def rounds_of_trees(*, leaves=8, cover=100.0, gain=50.0, training=(), validation=(), metric="logloss", count=6):
    """Return rounds of one tree each, the first node of which has all the cover, and the gain."""
    nodes = 2 * leaves - 1
    split = np.where(np.arange(nodes) < leaves - 1, 0.5, np.nan)
    table = {
        "trees/Node": np.arange(nodes),
        "trees/Split": split,
        "trees/Gain": np.where(np.arange(nodes) == 0, gain, 0.0),
        "trees/Cover": np.where(np.arange(nodes) == 0, cover, 1.0),
    }
    training, validation = training or [0.6] * count, validation or [0.6] * count
    return steps_of(
        [
            {**table, f"train-{metric}": training[number], f"validation-{metric}": validation[number]}
            for number in range(count)
        ],
        GLOBAL,
    )


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({}, None),
        ({"leaves": 1}, "regularisation"),
        ({"gain": 0.009}, "regularisation"),
        ({"gain": 0.011}, None),
        ({"gain": 0.009, "metric": "rmse"}, None),  # that depends on the scale of targets
        ({"cover": 3.9, "gain": 1.0}, "sampling"),
        ({"cover": 4.1, "gain": 1.0}, None),
        ({"cover": 0.05, "gain": 1.0}, None),  # predictions are too sure to tell
    ],
)
def test_trees_have_to_be_able_to_learn(run_rule, settings, cause):
    """Trees without splits, gain or rows fire in the first rounds, each with its own cause."""
    issues = run_rule("TreeGrowth", rounds_of_trees(**settings))
    assert first_cause(issues) == cause
    assert [issue.step for issue in issues] == ([4] if cause else [])


@pytest.mark.parametrize(
    ("leaves", "validation", "training", "fires"),
    [
        (8, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], True),
        (8, [0.70, 0.71, 0.70, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], False),
        (8, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.59, 0.58, 0.57, 0.56, 0.55], False),
        (21, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], False),
    ],
)
def test_what_is_learnt_has_to_hold_for_validation_data(run_rule, leaves, validation, training, fires):
    """A validation loss that rises from the first round on fires, unless leaves have fewer than 20 rows."""
    issues = run_rule("TreeGrowth", rounds_of_trees(leaves=leaves, validation=validation, training=training))
    assert first_cause(issues) == ("evaluation data" if fires else None)


@pytest.mark.parametrize(
    ("settings", "value", "threshold"),
    [
        ({"leaves": 1}, 1, 2),
        ({"gain": 0.009}, 0.00009, 0.0001),
        ({"cover": 3.9, "gain": 1.0}, 3.9, 4),
        (
            {"validation": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], "training": [0.6, 0.5, 0.4, 0.3, 0.2, 0.1], "leaves": 2},
            0.9,
            0.515,
        ),
    ],
    ids=["splits", "gain", "cover", "validation loss"],
)
def test_issues_hold_the_value_and_the_limit_that_it_broke(run_rule, settings, value, threshold):
    """Each reason has its own value and limit."""
    (issue,) = run_rule("TreeGrowth", rounds_of_trees(**settings))
    assert (issue.value, issue.threshold) == (pytest.approx(value), pytest.approx(threshold))


def rounds_of_one_tree(split, gain, shape=(5,)):
    """Return rounds of one tree, whose first two nodes split."""
    table = {
        "trees/Node": np.arange(5).reshape(shape),
        "trees/Split": np.array([split, split, np.nan, np.nan, np.nan]),
        "trees/Gain": np.array([gain, gain, 0.5, 0.5, 0.5]),
        "trees/Cover": np.array([100.0, 60.0, 40.0, 30.0, 30.0]),
    }
    return steps_of([{**table, "train-logloss": 0.6}] * 6, GLOBAL)


@pytest.mark.parametrize(("split", "gain", "fires"), [(1.5, 0.0, True), (1.5, 9.0, False), (np.nan, 9.0, False)])
def test_splits_by_categories_are_no_leaves(run_rule, split, gain, fires):
    """Splits by categories have no threshold, and are not leaves."""
    assert bool(run_rule("TreeGrowth", rounds_of_one_tree(split, gain))) == fires


def test_tables_of_another_shape_give_no_verdict(run_rule):
    """Tables of another shape than one axis give no verdict."""
    assert run_rule("TreeGrowth", rounds_of_one_tree(1.5, 0.0, (5, 1))) == []
