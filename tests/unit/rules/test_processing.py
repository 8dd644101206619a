"""What a Processing job is told."""

from __future__ import annotations

import math

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.builtin_rule import Measurement
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.processing import parse_rules
from sagemaker_debug_ext.rules.scaling import ShardResult
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "rules must be JSON"),
        ("[]", "must be a JSON object of objects"),
        ('{"a": "DeadRelu"}', "must be a JSON object of objects"),
        ('{"a": {"rul": "DeadRelu"}}', r"must have members among rule, parameters, source \(got 'rul'\); did you mean"),
        ('{"a": {"parameters": {}}}', "rule 'a' must tell its rule"),
        ("{}", "at least one rule"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(text, words):
    """Naming what was wrong."""
    with pytest.raises(SMDebugValueError, match=words):
        parse_rules(text)


def test_what_an_instance_found_reads_back_as_it_was():
    """Numbers that JSON lacks included, and readings of shares."""
    issue = Issue(rule="a", step=3, mode=ModeKeys.EVAL, mode_step=1, tensors=("x",), value=math.inf, threshold=1.0)
    status = RuleStatus(name="a", rule="A", status="IssuesFound", first_issue_step=3, num_issues=1)
    measurements = {"b": {4: {"y": Measurement(2.0, fires=True, severity=1.0, text="t")}, 5: {}}}
    found = ShardResult((issue,), (status,), measurements)
    assert ShardResult.from_json_dict(found.to_json_dict()) == found
