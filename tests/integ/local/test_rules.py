"""Rules beside a job: followed live, ended at the first issue, their actions carried out on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sagemaker_debug_ext.local import (
    ActionTaken,
    Event,
    IssueFound,
    LocalTrainingJob,
    RuleStatusChanged,
    run_training_job,
)
from sagemaker_debug_ext.rules.evaluation.results import RESULT_SCHEMA

MakeRequest = Callable[..., dict[str, Any]]

CUSTOM_RULE = """
from sagemaker_debug_ext.rules import Rule

class LossAbove(Rule):
    def __init__(self, base_trial, limit):
        super().__init__(base_trial)
        self.limit = float(limit)

    def invoke_at_step(self, step):
        return self.base_trial.tensor("loss").value(step).item() > self.limit

class Broken(Rule):
    def invoke_at_step(self, step):
        raise RuntimeError("this rule is broken")
"""

IMAGE = "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"
PAUSE = "while True: signal.pause()\n"
"""The end of a script that only ends when it is stopped."""


@pytest.fixture
def custom_rule(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Returns a function that configures a rule of the custom source."""
    path = tmp_path / "s3" / "bucket" / "rules" / "custom.py"
    path.parent.mkdir(parents=True)
    path.write_text(CUSTOM_RULE)

    def configure(name: str, rule: str = "LossAbove", actions: object = None, **parameters: str) -> dict[str, Any]:
        if actions is not None:
            parameters["action_json"] = json.dumps(actions).replace('"', '\\"')
        source = {"source_s3_uri": "s3://bucket/rules/custom.py", "rule_to_invoke": rule}
        return {
            "RuleConfigurationName": name,
            "RuleEvaluatorImage": IMAGE.replace("rules:", "rule-evaluator:"),
            "RuleParameters": {**source, **parameters},
        }

    return configure


def builtin_rule(name: str, **parameters: str) -> dict[str, Any]:
    return {
        "RuleConfigurationName": name,
        "RuleEvaluatorImage": IMAGE,
        "RuleParameters": {"rule_to_invoke": name, **parameters},
    }


def statuses(job: LocalTrainingJob) -> dict[str, tuple[str, str]]:
    return {
        entry["RuleConfigurationName"]: (entry["RuleEvaluationStatus"], entry.get("StatusDetails", ""))
        for entry in job.describe().get("DebugRuleEvaluationStatuses", ())
    }


def test_rule_with_stop_action_stops_the_running_job(
    make_request: MakeRequest, save_steps: str, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """A rule sees steps while the script runs, and its action ends the script."""
    actions = [
        {"name": "stoptraining", "training_job_prefix": "Job"},
        {"name": "email", "endpoint": "me@example.com"},
    ]
    rules = [custom_rule("High", actions=actions, limit="1.5"), custom_rule("Never", limit="99")]
    events: list[Event] = []
    request = make_request(save_steps + PAUSE, name="Job-1", DebugRuleConfigurations=rules)
    job = run_training_job(request, tmp_path, on_event=events.append)

    assert job.describe()["TrainingJobStatus"] == "Stopped"
    details = (
        "RuleEvaluationConditionMet: Evaluation of the rule LossAbove at step 2 resulted in the condition being met"
    )
    assert statuses(job) == {"High": ("IssuesFound", details), "Never": ("NoIssuesFound", "")}
    assert [event.issue.step for event in events if isinstance(event, IssueFound)] == [2]
    assert [(event.rule, event.action) for event in events if isinstance(event, ActionTaken)] == [
        ("High", "stoptraining"),
        ("High", "email"),
    ]
    assert [(e.rule, e.status, e.step) for e in events if isinstance(e, RuleStatusChanged)] == [
        ("High", "IssuesFound", 2),
        ("Never", "NoIssuesFound", None),
    ]
    arns = [entry["RuleEvaluationJobArn"] for entry in job.describe()["DebugRuleEvaluationStatuses"]]
    assert all(":123456789012:processing-job/job-1-" in arn for arn in arns)
    assert len(set(arns)) == 2

    output = tmp_path / "s3/bucket/out/Job-1/rule-output"
    result = json.loads((output / "High" / "rule-result.json").read_text())
    assert (result["status"], result["first_issue_step"]) == ("IssuesFound", 2)
    assert (result["name"], result["rule"], result["num_issues"]) == ("High", "LossAbove", 1)
    assert [issue["step"] for issue in result["issues"]] == [2]
    assert [action["name"] for action in result["actions"]] == ["stoptraining", "email"]
    assert "not sent" in result["actions"][1]["outcome"]
    other = json.loads((output / "Never" / "rule-result.json").read_text())
    assert other["status"] == "NoIssuesFound"
    for described in (result, other):
        jsonschema.validate(described, RESULT_SCHEMA)
        assert described["modified_at"].endswith("+00:00")


def test_rule_with_another_prefix_stops_nothing(
    make_request: MakeRequest, save_steps: str, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Only a job whose name begins with the prefix is stopped; case matters."""
    rule = custom_rule("High", actions={"name": "stoptraining", "training_job_prefix": "JOB"}, limit="1")
    job = run_training_job(make_request(save_steps, DebugRuleConfigurations=[rule]), tmp_path)
    assert job.describe()["TrainingJobStatus"] == "Completed"
    assert statuses(job)["High"][0] == "IssuesFound"


def test_rule_whose_file_stays_where_it_is_runs(
    make_request: MakeRequest, save_steps: str, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """A rule that is being written need not be uploaded for each try."""
    path = tmp_path / "my rules.py"
    path.write_text(CUSTOM_RULE)
    rule = custom_rule("High", limit="1", source_s3_uri=path.as_uri())
    job = run_training_job(make_request(save_steps, DebugRuleConfigurations=[rule]), tmp_path)
    assert statuses(job)["High"][0] == "IssuesFound"
    shown = job._repr_html_()
    assert "<th>status</th><td>Completed</td>" in shown
    assert "<td>High</td><td>IssuesFound</td>" in shown


def test_rules_that_cannot_run_have_the_status_error_and_the_job_runs(
    make_request: MakeRequest, save_steps: str, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Each broken rule is told with its reason; the job and the other rules go on."""
    none = "s3://bucket/rules/none.py"
    broken = {
        "class": ({"rule": "NoSuchRule"}, "SMDebugValueError: .*NoSuchRule"),
        "missing-parameter": ({}, "SMDebugValueError: .*limit"),
        "bad-parameter": ({"limit": "abc"}, "ValueError: .*abc"),
        "unknown-parameter": ({"limit": "1", "limmit": "2"}, "SMDebugValueError: .*limmit"),
        "raises": ({"rule": "Broken"}, "RuntimeError: this rule is broken"),
        "source": ({"source_s3_uri": none, "limit": "1"}, "SMDebugValueError: .*none.py"),
    }
    rules = [custom_rule(name, **rule) for name, (rule, _) in broken.items()]
    request = make_request(save_steps, DebugRuleConfigurations=[*rules, custom_rule("Good", limit="1")])
    job = run_training_job(request, tmp_path)
    assert job.describe()["TrainingJobStatus"] == "Completed"
    found = statuses(job)
    assert found.pop("Good")[0] == "IssuesFound"
    assert {name: status for name, (status, _) in found.items()} == dict.fromkeys(broken, "Error")
    unexplained = {name: found[name][1] for name, (_, reason) in broken.items() if not re.match(reason, found[name][1])}
    assert unexplained == {}


def test_rules_of_a_job_without_tensors_have_the_status_error(
    make_request: MakeRequest, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Rules that never saw data do not claim that there are no issues."""
    request = make_request("", DebugRuleConfigurations=[custom_rule("High", limit="1")])
    status, details = statuses(run_training_job(request, tmp_path))["High"]
    assert status == "Error"
    assert "saved no tensors" in details


def test_rules_of_a_failing_job_see_what_it_saved(
    make_request: MakeRequest, save_steps: str, custom_rule: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """A script that crashes does not take its rules with it."""
    rules = [custom_rule("High", limit="2.5"), custom_rule("Never", limit="9")]
    job = LocalTrainingJob(make_request(save_steps + "os._exit(1)", DebugRuleConfigurations=rules), tmp_path)
    job.start()
    with pytest.raises(RuntimeError, match="exit code 1"):
        job.wait()
    assert [status for status, _ in statuses(job).values()] == ["IssuesFound", "NoIssuesFound"]


def test_rules_are_stopped_with_the_block_of_the_job(
    make_request: MakeRequest,
    save_steps: str,
    custom_rule: Callable[..., dict[str, Any]],
    start: Callable[..., LocalTrainingJob],
) -> None:
    """Whoever leaves the job's block waits neither for the script nor for the rules."""
    request = make_request(save_steps + PAUSE, DebugRuleConfigurations=[custom_rule("Never", limit="99")])
    with start(request) as job:
        assert statuses(job) == {"Never": ("InProgress", "")}
    assert statuses(job) == {"Never": ("Stopped", "")}


def test_builtin_rule_fires_on_a_live_job(make_request: MakeRequest, save_steps: str, tmp_path: Path) -> None:
    """A rule of the catalog runs from the request alone, as on SageMaker."""
    rule = builtin_rule("LossNotDecreasing", collection_names="losses", num_steps="2", diff_percent="0.1")
    job = run_training_job(make_request(save_steps, DebugRuleConfigurations=[rule]), tmp_path)
    status, details = statuses(job)["LossNotDecreasing"]
    assert status == "IssuesFound"
    assert details.startswith("RuleEvaluationConditionMet: Evaluation of the rule LossNotDecreasing at step ")
