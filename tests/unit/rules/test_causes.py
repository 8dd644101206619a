from __future__ import annotations

import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.rules.causes import CAUSES, LOOK_ALIKES, MOST_CAUSES, SIGNS, likely_causes
from sagemaker_debug_ext.rules.extra.data.token_shift import LATER
from sagemaker_debug_ext.rules.extra.losses.no_skill import FROM_NEW_DATA
from sagemaker_debug_ext.rules.extra.updates.frozen_parameters import HAS_GRADIENT, NO_GRADIENT
from sagemaker_debug_ext.rules.inference.consequences import ZERO_GRADIENT
from sagemaker_debug_ext.rules.inference.pairings import BROADCAST, OVER_SAMPLES
from sagemaker_debug_ext.rules.recommended import RECOMMENDED


def names(*issues):
    return [cause.name for cause in likely_causes(issues) if not cause.looks_like]


def names_with_look_alikes(*issues):
    return [cause.name for cause in likely_causes(issues)]


def test_every_sign_is_of_a_rule_that_exists_and_of_a_known_cause():
    """And every recommended rule is a sign of something."""
    known = {spec.name for spec in list_rule_specs("debugger")}
    assert {sign.rule for sign in SIGNS} <= known
    assert {sign.cause for sign in SIGNS} == set(CAUSES)
    assert set(RECOMMENDED) <= {sign.rule for sign in SIGNS}


def test_the_most_direct_sign_comes_first_whatever_the_order_of_issues():
    """Inputs that are not scaled explain a loss that jumps."""
    spike, scale = Issue(rule="LossSpike", step=3), Issue(rule="InputScale", step=9)
    assert names(spike, scale) == names(scale, spike) == ["inputs", "learning rate too high"]


def test_what_shows_before_the_first_update_is_no_matter_of_the_learning_rate():
    """The same rule points elsewhere later."""
    assert names(Issue(rule="GradientOutlier", step=0)) == ["exploding gradients"]
    assert names(Issue(rule="GradientOutlier", step=1))[0] == "learning rate too high"


def test_a_cause_has_all_its_issues_and_each_once():
    """The most direct one first."""
    first, later = Issue(rule="LossDivergence", step=4), Issue(rule="LossSpike", step=4)
    cause, *_ = likely_causes([later, first, first])
    assert cause.issues == (first, later)
    assert cause.meaning == CAUSES["learning rate too high"]


def test_issues_of_other_rules_point_at_nothing():
    """Custom rules are not known."""
    assert likely_causes([Issue(rule="Custom", step=0)]) == []


def test_values_that_are_not_finite_before_anything_grew_come_first():
    """What jumps to infinity is an echo of them; what grew to a number is not."""
    origin, spike = Issue(rule="NonFiniteOrigin", step=5), Issue(rule="LossSpike", step=5, value=float("inf"))
    assert names(spike, origin) == ["not finite", "learning rate too high"]
    assert names(spike, origin, Issue(rule="GradientOutlier", step=5, value=1e9))[0] == "learning rate too high"
    assert names(spike, origin, Issue(rule="GradientOutlier", step=6, value=1e9))[0] == "not finite"


def test_what_only_says_that_nothing_is_learnt_comes_last():
    """Whatever else was found says more."""
    silent = [Issue(rule=rule, step=1) for rule in ("NoSkill", "LossPlateau")]
    assert names(*silent, Issue(rule="SlowLearning", step=1)) == ["learning rate too low", "labels"]
    assert names(*silent, Issue(rule="Overfit", step=60))[0] == "overfitting"
    assert names(*silent, Issue(rule="ActivationCollapse", step=60))[0] == "initialisation"


def test_what_never_holds_for_new_data_explains_that_training_data_are_learnt_by_heart():
    """What else is there to learn."""
    useless = Issue(rule="NoSkill", step=14, message=f"The model learns nothing {FROM_NEW_DATA}.")
    assert names(Issue(rule="Overfit", step=20), useless) == ["labels", "overfitting"]


def test_parameters_out_of_reach_come_before_what_their_values_do():
    """Those whose gradient is 0 follow from something else."""
    dead = Issue(rule="DeadRelu", step=0)
    for reason, first in ((NO_GRADIENT, True), (HAS_GRADIENT, True), ("its gradient is 0", False)):
        frozen = Issue(rule="FrozenParameters", step=5, message=f"Parameters do not change ({reason}).")
        assert (names(dead, frozen)[0] == "parameters not trained") is first


def test_equal_samples_are_a_matter_of_the_inputs():
    """Others that repeat are one of sampling."""
    equal = Issue(rule="DuplicateBatches", step=9, message="In the first all samples are equal.")
    assert names(equal)[0] == "inputs"
    assert names(Issue(rule="DuplicateBatches", step=9)) == ["sampling"]


@pytest.mark.parametrize("text", [f"targets which are {BROADCAST}", OVER_SAMPLES])
def test_losses_that_mix_samples_are_a_matter_of_axes_as_well(text):
    """Each answer depends on other samples, or is compared with their targets."""
    assert names(Issue(rule="LossInputMismatch", step=0, message=text)) == ["loss or output", "axes"]
    assert names(Issue(rule="LossInputMismatch", step=0, message="It gets probabilities.")) == ["loss or output"]


@pytest.mark.parametrize("alike", LOOK_ALIKES, ids=lambda alike: alike.cause)
def test_look_alikes_are_known_causes_of_rules_that_point_at_the_first(alike):
    """No cause looks like itself."""
    assert {alike.cause, *alike.others} <= set(CAUSES)
    assert alike.cause not in alike.others
    assert alike.rules <= {sign.rule for sign in SIGNS if sign.cause == alike.cause}


def test_what_looks_like_wrong_labels_is_named_where_nothing_else_was_found():
    """Samples that are mixed, or a loss of its own, leave a model without skill as well."""
    silent = [Issue(rule=rule, step=1) for rule in ("NoSkill", "LossPlateau")]
    labels, *others = likely_causes(silent)
    assert [labels.name, *(cause.name for cause in others)] == ["labels", "axes", "loss or output"]
    assert {cause.issues for cause in others} == {labels.issues}
    assert [cause.looks_like for cause in (labels, *others)] == ["", "labels", "labels"]
    assert not any(cause.may_follow for cause in others)


def test_look_alikes_of_the_likeliest_cause_fill_the_list_up_to_three():
    """Causes with signs of their own come before, and are not named twice."""
    gap, flat = Issue(rule="Overfit", step=60), Issue(rule="NoSkill", step=3)
    assert names_with_look_alikes(gap) == ["overfitting", "evaluation data", "sampling"]
    assert names_with_look_alikes(gap, flat) == ["overfitting", "labels", "evaluation data"]
    assert names_with_look_alikes(gap, Issue(rule="EvaluationOverlap", step=60)) == [
        "overfitting",
        "sampling",
        "evaluation data",
    ]
    more = (Issue(rule="LossSpike", step=5), Issue(rule="DeadRelu", step=5))
    assert len(names_with_look_alikes(gap, flat, *more)) > MOST_CAUSES
    assert "evaluation data" not in names_with_look_alikes(gap, flat, *more)


@pytest.mark.parametrize(
    "more",
    [
        Issue(rule="ClassImbalance", step=1),
        Issue(rule="TokenShift", step=1, message=f"Tokens are {LATER}"),
        Issue(rule="NoSkill", step=2, message=f"The model learns nothing {FROM_NEW_DATA}"),
        Issue(rule="Custom", step=2),
    ],
    ids=["a cause that was seen", "labels themselves", "learnt in training", "a rule of one's own"],
)
def test_nothing_looks_the_same_where_the_cause_was_seen(more):
    """What was found says more than what was not."""
    assert not any(cause.looks_like for cause in likely_causes([Issue(rule="NoSkill", step=1), more]))


def test_what_looks_the_same_comes_before_what_may_follow():
    """Units die of updates that are too large; that a model learns nothing then is no cause."""
    issues = [
        Issue(rule="DeadRelu", step=10, value=99.0),
        Issue(rule="LossPlateau", step=90),
        Issue(rule="FrozenParameters", step=60, message=f"Parameters do not change: {ZERO_GRADIENT}."),
    ]
    causes = likely_causes(issues)
    assert [(cause.name, cause.looks_like, cause.may_follow) for cause in causes] == [
        ("dead units", "", False),
        ("learning rate too high", "dead units", False),
        ("regularisation", "dead units", False),
        ("parameters not trained", "", True),
        ("labels", "", True),
    ]


@pytest.mark.parametrize(("steps", "first"), [([0, 60], "dead units"), ([60, 70], "learning rate too high")])
def test_units_that_die_late_have_died_of_updates(steps, first):
    """Those that are dead from the first step on have not."""
    found = names(*(Issue(rule="DeadRelu", step=step, value=99.0) for step in steps))
    assert found[0] == first
    assert "dead units" in found
