from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import NoMoreData, NoMoreProfilerData, RuleEvaluationConditionMet, TensorUnavailable
from sagemaker_debug_ext.rules import Rule, invoke_rule
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS = {(ModeKeys.TRAIN, step): {"x": np.full(1, step % 2)} for step in range(6)}


class Odd(Rule):
    """Fires at odd steps, and notes the steps it is shown."""

    def __init__(self, base_trial, raising=None):
        super().__init__(base_trial)
        self.seen = []
        self.raising = raising or {}

    def invoke_at_step(self, step):
        self.seen.append(step)
        if step in self.raising:
            raise self.raising[step]
        return self.base_trial.tensor("x").value(step)[0] == 1


@pytest.fixture
def trial(make_trial):
    return make_trial(STEPS)


@pytest.mark.parametrize(("bounds", "seen"), [((), [0, 1, 2, 3, 4, 5]), ((2,), [2, 3, 4, 5]), ((1, 4), [1, 2, 3])])
def test_every_saved_step_is_shown_and_the_end_is_quiet(trial, bounds, seen):
    """Whether or not the rule fires, also at the end of the job."""
    rule = Odd(trial)
    assert invoke_rule(rule, *bounds) is None
    assert rule.seen == seen


def test_the_first_condition_met_is_raised_if_asked_for(trial):
    """Steps after it are not shown."""
    rule = Odd(trial)
    with pytest.raises(RuleEvaluationConditionMet, match="step 1"):
        invoke_rule(rule, raise_eval_cond=True)
    assert rule.seen == [0, 1]


@pytest.mark.parametrize("error", [TensorUnavailable("x"), NoMoreData(9, ModeKeys.GLOBAL, 5)])
def test_steps_that_cannot_be_evaluated_are_skipped(trial, error):
    """Something is missing there."""
    rule = Odd(trial, {2: error})
    invoke_rule(rule)
    assert rule.seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("error", [RuleEvaluationConditionMet("Odd", 2, end_of_rule=True), NoMoreProfilerData(7)])
def test_a_rule_may_end_itself(trial, error):
    """Quietly."""
    rule = Odd(trial, {2: error})
    invoke_rule(rule)
    assert rule.seen == [0, 1, 2]


def test_errors_of_the_rule_come_through(trial):
    """The caller made the rule and wants to know."""
    with pytest.raises(ZeroDivisionError):
        invoke_rule(Odd(trial, {2: ZeroDivisionError()}))


def test_a_trial_that_goes_on_is_evaluated_up_to_now_if_not_followed(make_trial):
    """Nothing is waited for."""
    rule = Odd(make_trial(STEPS, ended=False))
    invoke_rule(rule, follow=False)
    assert rule.seen == [0, 1, 2, 3, 4, 5]
