"""`BuiltinRule` is made and invoked like any other rule."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sagemaker_debug_ext.errors import RuleEvaluationConditionMet
from sagemaker_debug_ext.rules import invoke_rule
from sagemaker_debug_ext.rules.builtin_rule import describe_tensors
from sagemaker_debug_ext.rules.sagemaker.updates.vanishing_gradient import VanishingGradient
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS = {(ModeKeys.TRAIN, step): {"gradient/w": np.full(2, 0.1**step)} for step in range(4)}


@pytest.mark.parametrize(
    ("tensors", "text"),
    [(["a"], "'a'"), (["a", "b"], "'a' and 1 other tensor"), (["a", "b", "c"], "'a' and 2 other tensors")],
)
def test_many_tensors_are_named_by_the_first(tensors, text):
    """A message names the first of several tensors and counts the others."""
    assert describe_tensors(tensors) == text


def test_a_built_in_rule_may_be_made_and_invoked_directly(make_trial):
    """A built-in rule takes parameters as keyword arguments and is invoked by the methods of any rule."""
    rule = VanishingGradient(make_trial(STEPS), threshold="0.05")
    assert [rule.invoke_at_step(step) for step in range(4)] == [False, False, True, True]
    invoke_rule(rule)
    with pytest.raises(RuleEvaluationConditionMet, match="rule VanishingGradient at step 2"):
        invoke_rule(rule, raise_eval_cond=True)


def test_importing_the_rules_loads_no_aws_library():
    """Importing the rules loads neither boto3 nor PyTorch."""
    code = "import sys, sagemaker_debug_ext.rules; print(sorted({'boto3', 'botocore', 'torch'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"
