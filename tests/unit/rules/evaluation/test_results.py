from __future__ import annotations

import json
import math

import jsonschema
import numpy as np
import pytest

from sagemaker_debug_ext.rules import RuleStatus, create_rule, evaluate, exit_code
from sagemaker_debug_ext.rules.evaluation import results as results_module
from sagemaker_debug_ext.rules.evaluation.results import write_result
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS = {(ModeKeys.TRAIN, step): {"x": np.full(2, math.nan)} for step in range(4)}


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0), (["NoIssuesFound", "Stopped"], 0),
        (["IssuesFound", "NoIssuesFound"], 1), (["IssuesFound", "Error"], 2),
    ],
)  # fmt: skip
def test_exit_code_tells_errors_from_issues_from_nothing(statuses, code):
    """An error weighs more: the rule may have missed something."""
    assert exit_code([RuleStatus(name="a", rule="A", status=status) for status in statuses]) == code


def test_results_of_a_rule_are_written_when_it_ends(make_trial, tmp_path):
    """As JSON without NaN, under a name that stays in the folder; the first issues are kept, all are counted."""
    trial = make_trial(STEPS)
    rules = {"../my rule": create_rule("ExplodingTensor", trial)}
    evaluate(rules, trial, output_path=str(tmp_path / "out"), clock=lambda: 5.0).run()
    (path,) = (tmp_path / "out").rglob("*.json")
    found = json.loads(path.read_text())
    assert path.parent.parent == tmp_path / "out"
    assert (found["name"], found["status"], found["num_issues"]) == ("../my rule", "IssuesFound", 4)
    assert [issue["step"] for issue in found["issues"]] == [0, 1, 2, 3]
    assert (found["rule"], found["modified_at"]) == ("ExplodingTensor", "1970-01-01T00:00:05+00:00")
    jsonschema.validate(found, results_module.RESULT_SCHEMA)


def test_issues_beyond_a_number_are_counted_only(make_trial, tmp_path, monkeypatch):
    """A million issues would help nobody."""
    monkeypatch.setattr("sagemaker_debug_ext.rules.evaluation.rule_run.MAX_KEPT_ISSUES", 2)
    trial = make_trial(STEPS)
    evaluate([create_rule("ExplodingTensor", trial)], trial, output_path=str(tmp_path / "out")).run()
    found = json.loads((tmp_path / "out" / "ExplodingTensor" / results_module.RESULT_FILE).read_text())
    assert (len(found["issues"]), found["num_issues"]) == (2, 4)


def test_a_result_that_cannot_be_written_is_logged(caplog):
    """The evaluation is what matters."""
    write_result(LocalBackend("/dev/null/x"), RuleStatus(name="a", rule="A"), [])
    assert "could not be written" in caplog.text
