"""A rule over a golden trial sees the steps, and comes to the verdicts, that it did with the original."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.exceptions import RuleEvaluationConditionMet
from sagemaker_debug_ext.rules import Rule, invoke_rule
from sagemaker_debug_ext.trials import create_trial

NAMES = (
    "dtypes",
    "keras",
    "keras_tape",
    "multi_worker",
    "scalars_custom",
    "torch_jsonconfig",
    "torch_mnistlike",
    "torch_reductions_noraw",
    "torch_reductions_raw",
    "torch_shapes",
    "torch_tensorboard",
    "xgboost",
)


class MeanAbove(Rule):
    """The rule that `expected.json` was made with."""

    def __init__(self, base_trial, tensor, threshold):
        super().__init__(base_trial, action_str="")
        self.tensor = tensor
        self.threshold = threshold
        self.invoked = []

    def set_required_tensors(self, step):
        self.req_tensors.add(self.tensor, [step])

    def invoke_at_step(self, step):
        met = bool(self.base_trial.tensor(self.tensor).value(step).mean() > self.threshold)
        self.invoked.append([step, met])
        return met


@pytest.mark.parametrize("name", NAMES)
def test_rule_over_golden_trial_when_invoked_then_judges_the_expected_steps(unpack, name):
    """The same steps are judged, in the same order, with the same verdicts."""
    golden = unpack(name)
    expected = golden.expected["rule"]

    def invoke(**options):
        rule = MeanAbove(create_trial(golden.trial_path), expected["tensor"], expected["threshold"])
        try:
            invoke_rule(rule, **options)
        except RuleEvaluationConditionMet as met:
            return rule.invoked, met.step
        return rule.invoked, None

    assert invoke() == (expected["all_steps"]["invoked"], None)
    assert invoke(start_step=2, end_step=9) == (expected["start_2_end_9"]["invoked"], None)
    invoked, fired_at = invoke(raise_eval_cond=True)
    assert invoked == expected["raise_eval_cond"]["invoked"]
    assert (expected["raise_eval_cond"].get("raises") == "RuleEvaluationConditionMet") == (fired_at is not None)


@pytest.mark.parametrize("name", NAMES)
def test_rule_over_golden_trial_when_data_end_then_ends_without_an_error(unpack, name):
    """The end of the data is the end of the rule; the original let NoMoreData through."""
    golden = unpack(name)
    expected = golden.expected["rule"]
    assert expected["all_steps"]["raises"] == "NoMoreData"
    invoke_rule(MeanAbove(create_trial(golden.trial_path), expected["tensor"], expected["threshold"]))
