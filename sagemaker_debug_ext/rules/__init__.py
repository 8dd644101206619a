"""Rules: checks over a trial, built-in ones and the user's own, one at a time or many in one pass."""

from __future__ import annotations

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.evaluation.engine import Evaluation, evaluate
from sagemaker_debug_ext.rules.evaluation.results import exit_code
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.rules.explain import Explanation, explain
from sagemaker_debug_ext.rules.factory.creation import create_custom_rule, create_rule
from sagemaker_debug_ext.rules.isolation import Isolation
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.required_tensors import RequiredTensors, RequiredTensorsForTrial
from sagemaker_debug_ext.rules.rule_invoker import invoke_rule

__all__ = [
    # one rule
    "Rule",
    "RequiredTensors",
    "RequiredTensorsForTrial",
    "create_rule",
    "create_custom_rule",
    "Isolation",
    "invoke_rule",
    "explain",
    "Explanation",
    # many rules
    "evaluate",
    "Evaluation",
    "RuleStatus",
    "exit_code",
    "Issue",
]

__getattr__ = lazy_names(__name__)  # submodules
