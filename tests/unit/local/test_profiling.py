"""The profiler rules of a local job get the statuses that SageMaker would give them."""

from __future__ import annotations

import json
import threading

import pytest

from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.profiling import LocalProfilerEvaluation
from support.profiler import unpack


@pytest.fixture
def evaluate(tmp_path):
    """Evaluate rules over recorded data; return their statuses and events."""
    golden = unpack(tmp_path)

    def run(case, *rules, cancelled=False):
        names = [f"rule-{number}" for number, _ in enumerate(rules)]
        request = {
            "TrainingJobName": "job",
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
            "ProfilerRuleConfigurations": [
                {"RuleConfigurationName": name, "RuleParameters": parameters}
                for name, parameters in zip(names, rules, strict=True)
            ],
        }
        published, events = [], []
        evaluation = LocalProfilerEvaluation(
            request,
            None if case is None else golden / case / "profiler-output",
            Locations(tmp_path / "s3"),
            on_event=events.append,
            on_status=published.append,
        )
        evaluation.start()
        if cancelled:
            evaluation.cancel()
        else:
            evaluation.finish()
        evaluation.join()
        assert [entry["RuleEvaluationStatus"] for entry in published[0]] == ["InProgress"] * len(rules)
        return published[-1], events

    return run


def test_rules_when_the_job_ends_then_have_verdicts_with_reasons(evaluate):
    """A rule that fires, a sound one, one that cannot decide, and one that does not exist."""
    statuses, events = evaluate(
        "gpu_two_nodes",
        {"rule_to_invoke": "CPUBottleneck", "threshold": "19", "patience": "10"},
        {"rule_to_invoke": "IOBottleneck", "patience": "10"},
        {"rule_to_invoke": "LowGPUUtilization"},
        {"rule_to_invoke": "NoSuchRule"},
    )
    found = [(entry["RuleEvaluationStatus"], entry.get("StatusDetails", "")) for entry in statuses]
    assert [status for status, _ in found] == ["IssuesFound", "NoIssuesFound", "NoIssuesFound", "Error"]
    assert "GPUs waited for the CPU" in found[0][1]
    assert found[1][1] == ""
    assert found[2][1].startswith("not evaluated: LowGPUUtilization: 30 of 1000 points")
    assert "NoSuchRule" in found[3][1]
    assert [event.rule for event in events] == ["rule-0", "rule-1", "rule-2", "rule-3"]
    assert statuses[0]["RuleEvaluationJobArn"].endswith(statuses[0]["RuleEvaluationJobArn"].rpartition("/")[2])


def test_report_when_the_job_ends_then_its_files_lie_where_sagemaker_puts_them(evaluate, tmp_path):
    """Eleven files below the rule's output."""
    evaluate("gpu_two_nodes", {"rule_to_invoke": "ProfilerReport", "CPUBottleneck_patience": "10"})
    (folder,) = (tmp_path / "s3").rglob("profiler-reports")
    assert folder.parts[-4:-1] == ("rule-output", "rule-0", "profiler-output")
    assert len(list(folder.iterdir())) == 11
    assert json.loads((folder / "CPUBottleneck.json").read_text())["Violations"] == 12


def test_rules_when_the_job_runs_then_a_verdict_does_not_wait_for_a_full_slice(tmp_path):
    """The newest minute of a job without a mark of its end has only half of its rows."""
    path = unpack(tmp_path) / "gpu_two_nodes" / "profiler-output"
    for mark in path.rglob("training_job_end.ts"):
        mark.unlink()
    events, ended = [], threading.Event()

    def on_event(event):
        events.append(event)
        ended.set()

    request = {
        "TrainingJobName": "job",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ProfilerRuleConfigurations": [
            {
                "RuleConfigurationName": "cpu",
                # One slice is longer than the job.
                "RuleParameters": {
                    "rule_to_invoke": "CPUBottleneck",
                    "threshold": "19",
                    "patience": "10",
                    "scan_interval_us": "3600000000",
                },
            }
        ],
    }
    evaluation = LocalProfilerEvaluation(
        request,
        path,
        Locations(tmp_path / "s3"),
        on_event=lambda event: (events.append(event), ended.set()),
        on_status=lambda _: None,
    )
    evaluation.start()
    try:
        assert ended.wait(30)
        assert events[0].status == "IssuesFound"
    finally:
        evaluation.cancel()
        evaluation.join()


@pytest.mark.parametrize("case", [None, "no such case"])
def test_rules_when_there_are_no_data_then_say_so(evaluate, case):
    """A job that is not sampled is not called sound."""
    statuses, _ = evaluate(case, {"rule_to_invoke": "CPUBottleneck"})
    assert statuses[0]["RuleEvaluationStatus"] == "NoIssuesFound"
    assert statuses[0]["StatusDetails"] == "not evaluated: there are no profiler data"


def test_rules_when_cancelled_then_are_stopped(evaluate):
    """An interrupted job leaves no rule in progress."""
    statuses, _ = evaluate("gpu_two_nodes", {"rule_to_invoke": "CPUBottleneck"}, cancelled=True)
    assert statuses[0]["RuleEvaluationStatus"] == "Stopped"
