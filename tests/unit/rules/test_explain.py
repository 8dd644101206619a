from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sagemaker_debug_ext.rules import Rule, create_rule, explain
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN
STEPS = {(TRAIN, 0): {"gradient/a": np.ones(2), "gradient/b": np.ones(2), "a_relu_output": np.ones(2)}}


@pytest.fixture
def trial(make_trial):
    return make_trial(STEPS)


def test_a_rule_that_will_evaluate_tells_its_tensors_and_what_feeds_them(trial):
    """Names and collections, and no problem."""
    explanation = explain(create_rule("VanishingGradient", trial))
    (need,) = explanation.needs
    assert (explanation.rule, explanation.problems) == ("VanishingGradient", ())
    assert (need.purpose, need.tensors, need.collections) == ("gradients", ("gradient/a", "gradient/b"), ("gradients",))
    assert "2 tensors, such as 'gradient/a', of gradients" in str(explanation)


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("WeightUpdateRatio", {}, "nothing was saved of collection 'weights'"),
        ("AllZero", {"collection_names": "gradents"}, "no collection 'gradents'.*did you mean 'gradients'"),
        ("DeadRelu", {"tensor_regex": "gelu"}, "no tensor has a name with 'gelu'.*names look like 'a_relu_output'"),
        ("Confusion", {}, "no collection 'labels'"),
        ("TensorVariance", {"tensor_regex": "relu"}, "neither max_threshold nor min_threshold is given"),
        ("PoorWeightInitialization", {"activation_inputs_regex": "x"}, None),
        ("ClassImbalance", {}, "'.\\*labels'"),
        ("CreateXgboostReport", {}, "no collection 'metrics'"),
    ],
)
def test_a_rule_that_will_never_evaluate_says_why(trial, name, parameters, problem):
    """One alternative is enough where a rule has several."""
    explanation = explain(create_rule(name, trial, parameters))
    if problem is None:
        assert explanation.problems == ()
    else:
        assert any(re.search(problem, text) for text in explanation.problems), explanation.problems
        assert "no verdict: " in str(explanation)


def test_reductions_alone_are_a_problem_for_rules_that_need_values(make_trial):
    """With the setting that helps."""
    trial = make_trial({(TRAIN, 0): {reduction_tensor_name("mean", True, "gradient/a_relu_output"): np.array(1.0)}})
    assert explain(create_rule("VanishingGradient", trial)).problems == ()
    (problem,) = explain(create_rule("DeadRelu", trial)).problems
    assert "only reductions were saved" in problem
    assert "save_raw_tensor" in problem


def test_before_the_first_step_announced_collections_count(tmp_path):
    """A hook says what it will save before it saves."""
    SmallTrial(tmp_path)
    trial = create_trial(str(tmp_path))
    assert "is the hook attached" in explain(create_rule("ExplodingTensor", trial)).problems[0]
    trial.collection("gradients").add_tensor_name("gradient/w")
    assert explain(create_rule("VanishingGradient", trial)).needs[0].tensors == ("gradient/w",)


def test_a_custom_rule_without_declarations_has_nothing_to_explain(trial):
    """What it needs is known only when it runs."""

    class Mine(Rule):
        def invoke_at_step(self, step):
            return False

    assert (explain(Mine(trial)).needs, explain(Mine(trial)).problems) == ((), ())


def test_explanations_are_values_that_json_can_hold(trial):
    """For programs."""
    found = json.loads(json.dumps(explain(create_rule("DeadRelu", trial)).to_json_dict()))
    assert found["needs"][0]["tensors"] == ["a_relu_output"]
