"""Rules over the trials that the original wrote: the same verdicts as its own invoker, and no errors."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.errors import RuleEvaluationConditionMet
from sagemaker_debug_ext.rules import Rule, create_rule, evaluate, invoke_rule
from sagemaker_debug_ext.trials import create_trial
from support.golden import ENDED, RUNNING

PARAMETERS = {
    "AllZero": {"tensor_regex": ".*"},
    "TensorVariance": {"tensor_regex": ".*", "max_threshold": "100", "min_threshold": "0.0001"},
    "UnchangedTensor": {"tensor_regex": ".*"},
    "SaturatedActivation": {"tensor_regex": ".*"},
    "DeadRelu": {"tensor_regex": ".*"},
    "CheckInputImages": {"regex": ".*", "threshold_samples": 1},
    "NLPSequenceRatio": {"tensor_regex": ".*"},
    "PoorWeightInitialization": {"activation_inputs_regex": ".*"},
}
"""Wide selections, so that every kind of tensor meets every rule."""


class MeanAbove(Rule):
    """The rule that the original was run with; notes each step it was shown and what it said."""

    def __init__(self, base_trial, tensor, threshold):
        super().__init__(base_trial)
        self.tensor = tensor
        self.threshold = threshold
        self.invoked = []

    def set_required_tensors(self, step):
        self.req_tensors.add(self.tensor, [step])

    def invoke_at_step(self, step):
        (tensor,) = self.req_tensors.get()
        met = bool(tensor.value(step).mean() > self.threshold)
        self.invoked.append([step, met])
        return met


@pytest.fixture(params=ENDED)
def golden(request, unpack):
    return unpack(request.param)


@pytest.mark.parametrize(
    ("run", "bounds", "raising"),
    [("all_steps", (), False), ("start_2_end_9", (2, 9), False), ("raise_eval_cond", (), True)],
)
def test_invoke_rule_shows_the_steps_that_the_original_showed(golden, run, bounds, raising):
    """And gets the same answers, but ends quietly where the original ended with NoMoreData."""
    expected = golden.expected["rule"]
    rule = MeanAbove(create_trial(golden.trial_path), expected["tensor"], expected["threshold"])
    if expected[run].get("raises") == "RuleEvaluationConditionMet":
        with pytest.raises(RuleEvaluationConditionMet) as caught:
            invoke_rule(rule, *bounds, raise_eval_cond=raising)
        assert str(caught.value) == expected[run]["message"]
    else:
        invoke_rule(rule, *bounds, raise_eval_cond=raising)
    assert rule.invoked == expected[run]["invoked"]


@pytest.mark.parametrize("name", [*ENDED, *RUNNING])
def test_every_built_in_rule_evaluates_every_trial_without_error(unpack, name):
    """Whatever was saved: reductions, shapes, texts, workers that lack steps."""
    path = unpack(name).trial_path
    trial = create_trial(path)
    rules = [
        create_rule(spec.name, trial, {**PARAMETERS.get(spec.name, {}), **_other_trial(spec.name, path)})
        for spec in list_rule_specs()
        if spec.rule_class
    ]
    evaluation = evaluate(rules, trial, follow=name not in RUNNING)
    evaluation.run()
    assert {status.status for status in evaluation.statuses} <= {"NoIssuesFound", "IssuesFound"}


def _other_trial(rule_name, path):
    return {"other_trials": path} if rule_name == "SimilarAcrossRuns" else {}


@pytest.mark.parametrize(
    ("golden_name", "rule_name", "steps", "first"),
    [
        # the net learns its few images by heart, until next to nothing is left to learn from
        ("torch_mnistlike", "VanishingGradient", [44], ("gradient/Net_fc.bias",)),
        ("torch_mnistlike", "Overfit", [10], ("CrossEntropyLoss_output_0",)),
        ("torch_mnistlike", "ExplodingTensor", [], ()),
        ("torch_mnistlike", "DeadRelu", [], ()),
        ("torch_mnistlike", "LossNotDecreasing", [], ()),
        ("dtypes", "ExplodingTensor", [0, 1], ("special/f32_nan_inf",)),
        ("torch_reductions_noraw", "ExplodingTensor", [], ()),
        ("xgboost", "FeatureImportanceOverweight", [0, 3, 6, 9], ("feature_importance/weight/f0",)),
        ("xgboost", "Confusion", [], ()),
        ("xgboost", "TreeDepth", [], ()),
        ("xgboost", "Overfit", [9], ("validation-logloss",)),
    ],
)
def test_built_in_rules_find_what_is_there(unpack, golden_name, rule_name, steps, first):
    """At the steps where it is, naming the tensor."""
    trial = create_trial(unpack(golden_name).trial_path)
    issues = evaluate([create_rule(rule_name, trial)], trial).run()
    assert [issue.step for issue in issues] == steps
    assert {issue.tensors[:1] for issue in issues} == ({first} if steps else set())
