from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from sagemaker_debug_ext import exceptions
from sagemaker_debug_ext.errors import (
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.rules import Issue, Rule, create_rule
from sagemaker_debug_ext.rules.action import Actions
from sagemaker_debug_ext.rules.rule import Rule as PublicRule
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL
STEPS = {(TRAIN, 0): {"x": np.zeros(2)}, (EVAL, 0): {"x": np.ones(2)}, (TRAIN, 2): {"y": np.ones(2)}}


class MeanAbove(Rule):
    """Fires if the mean of x is above a limit."""

    def __init__(self, base_trial, limit=0.5, **kwargs):
        super().__init__(base_trial, **kwargs)
        self.limit = float(limit)

    def set_required_tensors(self, step):
        self.req_tensors.add("x", [step])

    def invoke_at_step(self, step):
        (tensor,) = self.req_tensors.get()
        assert not self.base_trial.dynamic_refresh
        return tensor.value(step).mean() > self.limit


@pytest.fixture
def trial(make_trial):
    return make_trial(STEPS)


def test_a_rule_has_what_scripts_use(trial, make_trial):
    """Attributes and their first values."""
    other = make_trial(STEPS)
    rule = MeanAbove(trial, other_trials=[other])
    assert (rule.base_trial, rule.other_trials, rule.trials) == (trial, [other], [trial, other])
    assert rule.rule_name == "MeanAbove"
    assert rule.report == {"RuleTriggered": 0, "Violations": 0, "Details": {}, "Datapoints": 0, "RuleParameters": ""}
    assert rule.req_tensors.get_names() == []
    assert MeanAbove(trial).other_trials is None
    assert rule.logger.name.endswith("MeanAbove")
    assert PublicRule is Rule


@pytest.mark.parametrize("arguments", [(), ("",), (None,), ("", None), (None, None)])
def test_older_and_newer_constructor_arguments_are_accepted(trial, arguments):
    """With and without an action text."""

    class Plain(Rule):
        def __init__(self, base_trial):
            super().__init__(base_trial, *arguments)

        def invoke_at_step(self, step):
            return False

    rule = Plain(trial)
    assert (rule.other_trials, rule.actions.names) == (None, [])


def test_other_trials_may_come_second_as_in_older_rules(trial, make_trial):
    """A list in the place of the action text is the other trials."""
    other = make_trial(STEPS)

    class Old(Rule):
        def __init__(self, base_trial, other_trials=None):
            super().__init__(base_trial, other_trials)

        def invoke_at_step(self, step):
            return False

    assert Old(trial, [other]).trials == [trial, other]


def test_a_rule_without_its_method_cannot_be_made(trial):
    """invoke_at_step is what makes a rule."""

    class Nothing(Rule):
        pass

    with pytest.raises(TypeError, match="invoke_at_step"):
        Nothing(trial)


def test_invoke_raises_when_the_condition_is_met(trial):
    """And returns nothing when it is not."""
    rule = MeanAbove(trial)
    assert rule.invoke(0) is None
    with pytest.raises(RuleEvaluationConditionMet, match="rule MeanAbove at step 1 resulted") as caught:
        rule.invoke(1)
    assert (caught.value.rule_name, caught.value.step) == ("MeanAbove", 1)


@pytest.mark.parametrize(("more", "times"), [("", 1), (', "repeat": true', 2)])
def test_invoke_runs_the_actions_with_the_message_of_the_issue(trial, more, times):
    """Once, unless they are to be repeated."""
    calls = []
    rule = MeanAbove(trial)
    rule.actions = Actions(
        '{"name": "note"' + more + "}", rule.rule_name, handlers={"note": lambda *each: calls.append(each)}
    )
    for _ in range(2):
        with pytest.raises(RuleEvaluationConditionMet):
            rule.invoke(1)
    message = "Evaluation of the rule MeanAbove at step 1 resulted in the condition being met"
    assert [call[1:] for call in calls] == [("MeanAbove", message)] * times


@pytest.mark.parametrize(("step", "error"), [(2, TensorUnavailableForStep), (-1, StepUnavailable)])
def test_invoke_raises_when_a_tensor_or_step_is_missing(trial, step, error):
    """So that the caller can skip the step; the trial refreshes again afterwards."""
    with pytest.raises(error):
        MeanAbove(trial).invoke(step)
    assert trial.dynamic_refresh


def test_invoke_raises_when_a_tensor_does_not_exist(trial):
    """A name never saved is another error."""

    class Wrong(MeanAbove):
        def set_required_tensors(self, step):
            self.req_tensors.add("z", [step])

    with pytest.raises(TensorUnavailable):
        Wrong(trial).invoke(0)


def test_requirements_of_one_step_are_gone_at_the_next(trial):
    """Each step asks anew."""
    rule = MeanAbove(trial)
    rule.issues_at(0)
    rule.issues_at(1)
    assert rule.req_tensors.get_tensor_steps("x") == [1]


def test_the_issue_of_a_plain_rule_tells_where_it_fired(trial):
    """Tensors are those it required."""
    (issue,) = MeanAbove(trial).issues_at(1)
    message = "Evaluation of the rule MeanAbove at step 1 resulted in the condition being met"
    assert issue == Issue(rule="MeanAbove", step=1, mode=EVAL, mode_step=0, tensors=("x",), message=message)


def test_a_rule_may_tell_more(trial):
    """find_issues replaces the plain answer; invoke fires by it."""

    class Telling(MeanAbove):
        def find_issues(self, step):
            yield self.issue(step, "Too high.", tensors=["x"], value=np.float32(1), threshold=0.5, advice="Less.")

    (issue,) = Telling(trial).issues_at(1)
    assert (issue.message, issue.value, issue.threshold, issue.advice) == ("Too high.", 1, 0.5, "Less.")
    json.dumps(issue.to_json_dict())
    with pytest.raises(RuleEvaluationConditionMet):
        Telling(trial).invoke(0)


def test_a_loop_of_ones_own_can_catch_that_there_is_nothing_to_evaluate(make_trial):
    """The error is among the public ones, and survives the way between processes."""
    rule = create_rule("VanishingGradient", make_trial({(TRAIN, 0): {"x": np.zeros(2)}}))
    with pytest.raises(exceptions.NoVerdict, match="rule VanishingGradient has nothing to evaluate at step 0") as found:
        rule.invoke(0)
    assert (found.value.rule_name, found.value.step, found.value.reason) == ("VanishingGradient", 0, "")
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)
