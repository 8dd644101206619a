from __future__ import annotations

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.rules.causes import CAUSES, SIGNS, likely_causes
from sagemaker_debug_ext.rules.recommended import RECOMMENDED


def names(*issues):
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
    (cause,) = likely_causes([later, first, first])
    assert cause.issues == (first, later)
    assert cause.meaning == CAUSES["learning rate too high"]


def test_issues_of_other_rules_point_at_nothing():
    """Custom rules are not known."""
    assert likely_causes([Issue(rule="Custom", step=0)]) == []
