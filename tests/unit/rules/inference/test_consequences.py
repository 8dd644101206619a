"""Which signs can follow from which, and what that makes of the order of causes."""

from __future__ import annotations

import graphlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.layers.activation_collapse import CUT
from sagemaker_debug_ext.rules.inference.consequences import (
    ALL_ZERO,
    CONSEQUENCES,
    NEVER_PREDICTED,
    OF_SUM,
    ONE_CLASS,
    ZERO_GRADIENT,
    first_steps,
    follows,
)

ISSUES = st.builds(
    Issue,
    rule=st.sampled_from(sorted({row.rule for row in CONSEQUENCES}.union(*(row.of for row in CONSEQUENCES)))),
    step=st.integers(0, 20),
    value=st.sampled_from([None, 9.0, math.inf]),
    message=st.sampled_from(["", ZERO_GRADIENT]),
)


def test_every_row_is_of_rules_that_exist():
    """No row is dead."""
    known = {spec.name for spec in list_rule_specs("debugger")}
    assert {row.rule for row in CONSEQUENCES}.union(*(row.of for row in CONSEQUENCES)) <= known


def test_no_sign_follows_from_itself():
    """The model has no circle, so some sign always comes first."""
    graph: dict[str, set[str]] = {}
    for row in CONSEQUENCES:
        graph.setdefault(row.rule, set()).update(row.of)
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("rule", "text", "step", "other", "other_step", "expected"),
    [
        ("FrozenParameters", ZERO_GRADIENT, 201, "GradientOutlier", 1, True),
        ("FrozenParameters", ZERO_GRADIENT, 201, "DeadRelu", 9, True),
        ("FrozenParameters", ZERO_GRADIENT, 9, "DeadRelu", 9, False),
        ("FrozenParameters", ZERO_GRADIENT, 9, "GradientOutlier", 12, False),
        ("FrozenParameters", "no gradient reaches it", 201, "GradientOutlier", 1, False),
        ("InitialLoss", "", 0, "InputScale", 9, True),
        ("InitialLoss", "", 0, "LossSpike", 9, False),
        ("DeadRelu", "", 5, "LossSpike", 4, True),
        ("InputScale", "", 5, "LossSpike", 4, False),
        ("LearningRateTooLow", "", 11, "LossDivergence", 7, True),
        ("LearningRateTooLow", "", 5, "LossDivergence", 7, False),
        ("LearningRateTooLow", "", 20, "ActivationCollapse", 40, True),
        ("LearningRateTooLow", "", 20, "ActivationCollapse", 41, False),
        ("UnfinishedDescent", "", 400, "DeadRelu", 60, True),
        ("UnfinishedDescent", "", 400, "InputScale", 0, False),
        ("Underfit", "", 400, "UnfinishedDescent", 400, True),
        ("NoSkill", "", 300, "NoiseFloor", 400, True),
        ("LossInputMismatch", f"returns {OF_SUM}", 300, "LearningRateTooLow", 51, True),
        ("LossInputMismatch", f"returns {OF_SUM}", 51, "LearningRateTooLow", 300, False),
        ("LossInputMismatch", "gets outputs that are squeezed", 300, "LearningRateTooLow", 51, False),
        ("NoSkill", "", 140, "LearningRateTooHigh", 140, True),
        ("NoSkill", "", 140, "Overfit", 3, False),
        ("ActivationCollapse", "", 67, "DeadRelu", 60, True),
        ("ActivationCollapse", "", 60, "DeadRelu", 67, False),
        ("ActivationCollapse", CUT, 67, "DeadRelu", 60, False),
        ("PredictionCollapse", f"{ONE_CLASS} 1 for nearly all samples", 119, "DeadRelu", 60, True),
        ("PredictionCollapse", "Labels come sorted", 119, "DeadRelu", 60, False),
        ("ClassImbalance", f"Class 3 is hardly {NEVER_PREDICTED}", 400, "LearningRateTooHigh", 13, True),
        ("ClassImbalance", f"Class 3 is hardly {NEVER_PREDICTED}", 400, "FrozenParameters", 13, False),
        ("ClassImbalance", "Labels are unbalanced", 400, "LearningRateTooHigh", 13, False),
    ],
)
def test_sign_when_another_came_before_then_may_follow_from_it(rule, text, step, other, other_step, expected):
    """Time decides, and for what is there as built it does not matter when it was reported."""
    issue = Issue(rule=rule, step=step, message=text)
    assert follows(issue, first_steps([issue, Issue(rule=other, step=other_step)])) is expected


@pytest.mark.parametrize("rule", ["DeadRelu", "LossSpike", "LearningRateTooHigh"])
def test_sum_when_updates_are_small_for_another_reason_then_does_not_follow_from_them(rule):
    """Units that large updates have killed leave weights alone, too."""
    issues = [Issue(rule=rule, step=13), Issue(rule="LearningRateTooLow", step=82)]
    issue = Issue(rule="LossInputMismatch", step=99, message=f"returns {OF_SUM}")
    assert not follows(issue, first_steps([*issues, issue]))
    assert follows(issue, first_steps([*issues[1:], issue]))


@pytest.mark.parametrize(
    ("value", "step", "expected"), [(math.inf, 70, True), (math.inf, 69, False), (9.0, 70, False), (None, 70, False)]
)
def test_loss_that_jumps_when_it_is_nan_then_may_follow_from_the_first_nan(value, step, expected):
    """It does so within the step; a loss that jumps to a number does not."""
    issues = [Issue(rule="NonFiniteOrigin", step=70), Issue(rule="LossSpike", step=step, value=value)]
    causes = {cause.name: cause.may_follow for cause in likely_causes(issues)}
    assert causes["learning rate too high"] is expected


def test_causes_when_units_died_of_an_update_then_the_update_comes_first():
    """Parameters before dead units are not what is wrong."""
    frozen = Issue(rule="FrozenParameters", step=201, message=f"a does not change: {ZERO_GRADIENT}")
    outlier = Issue(rule="GradientOutlier", step=1)
    assert [cause.name for cause in likely_causes([frozen])] == ["parameters not trained"]
    names = [cause.name for cause in likely_causes([frozen, outlier]) if not cause.looks_like]
    assert names == ["learning rate too high", "exploding gradients", "parameters not trained"]


def test_causes_when_nothing_has_a_gradient_for_unscaled_inputs_then_these_come_first():
    """They saturate all units; without them, the loss does not depend on the model."""
    frozen = Issue(rule="FrozenParameters", step=201, message=f"a does not change: {ALL_ZERO}")
    assert likely_causes([frozen])[0].name == "loss or output"
    assert likely_causes([frozen, Issue(rule="InputScale", step=210)])[0].name == "inputs"


@given(st.lists(ISSUES, max_size=6), ISSUES)
def test_causes_when_a_consequence_is_added_then_the_first_stays(issues, further):
    """What follows from another sign never takes its place; an issue that points at no cause is no sign."""
    before = likely_causes(issues)
    signs = [issue for issue in issues if likely_causes([issue])]
    if (
        before
        and follows(further, first_steps(signs))
        and not any(follows(issue, first_steps([further])) for issue in issues)
    ):
        assert likely_causes([*issues, further])[0].name == before[0].name


@given(st.lists(ISSUES, max_size=6), st.randoms())
def test_causes_whatever_the_order_of_issues_then_are_the_same(issues, random):
    """Only steps and messages matter."""
    mixed = list(issues)
    random.shuffle(mixed)
    assert [cause.name for cause in likely_causes(mixed)] == [cause.name for cause in likely_causes(issues)]


def test_causes_when_all_their_signs_may_follow_then_they_say_so():
    """What may be a consequence is told apart from what is at fault."""
    issues = [
        Issue(rule="LearningRateTooHigh", step=5),
        Issue(rule="LossDivergence", step=7),
        Issue(rule="LearningRateTooLow", step=11),
        Issue(rule="NoSkill", step=140),
    ]
    causes = {cause.name: cause.may_follow for cause in likely_causes(issues)}
    assert causes == {"learning rate too high": False, "learning rate too low": True, "labels": True}
    assert not any(cause.may_follow for cause in likely_causes(issues[2:3]))


@given(st.lists(ISSUES, min_size=1))
def test_causes_of_any_issues_then_some_cause_follows_from_none(issues):
    """There is always a cause to begin with."""
    causes = likely_causes(issues)
    assert not causes or not causes[0].may_follow
