"""A job looked at by its description."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk.jobs import RuleStatus, RuleStatuses, TrainingJob, sagemaker_client

WHEN = dt.datetime(2026, 11, 20, 12, tzinfo=dt.timezone.utc)
DESCRIPTION = {
    "TrainingJobName": "job-1",
    "TrainingJobStatus": "InProgress",
    "OutputDataConfig": {"S3OutputPath": "s3://b/out/"},
    "DebugHookConfig": {"S3OutputPath": "s3://b/dbg"},
    "DebugRuleConfigurations": [
        {"RuleConfigurationName": "A", "RuleEvaluatorImage": "i"},
        {"RuleConfigurationName": "B", "RuleEvaluatorImage": "i", "S3OutputPath": "s3://b/rules"},
    ],
    "ProfilerRuleConfigurations": [{"RuleConfigurationName": "P", "RuleEvaluatorImage": "i"}],
    "DebugRuleEvaluationStatuses": [
        {
            "RuleConfigurationName": "B",
            "RuleEvaluationStatus": "IssuesFound",
            "StatusDetails": "<step 5>",
            "LastModifiedTime": WHEN,
            "RuleEvaluationJobArn": "arn",
        }
    ],
}


def with_statuses(*statuses):
    entries = [
        {"RuleConfigurationName": name, "RuleEvaluationStatus": status}
        for name, status in zip("AB", statuses, strict=True)
    ]
    return {**DESCRIPTION, "ProfilerRuleConfigurations": [], "DebugRuleEvaluationStatuses": entries}


def test_rules_are_brought_together_with_their_statuses_by_name():
    """In the order of the request; those of which the service says nothing have no status."""
    rules = TrainingJob(DESCRIPTION).rules
    assert [(rule.name, rule.kind, rule.status) for rule in rules] == [
        ("A", "debugger", None), ("B", "debugger", "IssuesFound"), ("P", "profiler", None),
    ]  # fmt: skip
    assert rules["B"] == rules[1] == rules.issues[0]
    assert rules[:1] == (rules[0],)
    assert rules["B"].since == "2026-11-20T12:00:00+00:00"
    assert rules["B"].output_path == "s3://b/rules/job-1/rule-output/B"
    assert rules["A"].output_path == "s3://b/out/job-1/rule-output/A"
    assert not rules.are_final


@pytest.mark.parametrize(
    ("rules", "match"),
    [(TrainingJob(DESCRIPTION).rules, "rule must be one of A, B, P"), (RuleStatuses(()), "the job has no rules")],
    ids=["other rules", "no rules"],
)
def test_rules_without_such_a_name_say_which_there_are(rules, match):
    """The error has the names of the job's rules."""
    with pytest.raises(SMDebugValueError, match=match):
        rules["C"]


def test_statuses_are_shown_as_a_table_in_text_html_and_json():
    """HTML is escaped."""
    rules = TrainingJob(DESCRIPTION).rules
    assert repr(rules).splitlines() == [
        "rule  kind      status       since                      details",
        "A     debugger  -            -",
        "B     debugger  IssuesFound  2026-11-20T12:00:00+00:00  <step 5>",
        "P     profiler  -            -",
    ]
    html = rules._repr_html_()
    assert html.count("<tr>") == 4
    assert "&lt;step 5&gt;" in html
    document = json.loads(rules.to_json())
    assert document[1]["status"] == "IssuesFound"
    assert document[1]["evaluation_job_arn"] == "arn"
    assert repr(RuleStatuses(())) == "no rules"


def test_a_job_tells_where_its_artifacts_are():
    """As text and as JSON."""
    job = TrainingJob(DESCRIPTION)
    assert (job.name, job.status) == ("job-1", "InProgress")
    assert job.artifact_paths.debugger == "s3://b/dbg/job-1/debug-output"
    assert job.rule_output_path(RuleStatus(name="A", kind="debugger")) == "s3://b/out/job-1/rule-output/A"
    assert repr(job).splitlines()[:2] == ["training job 'job-1': InProgress", "debugger: s3://b/dbg/job-1/debug-output"]
    assert json.loads(job.to_json())["artifact_paths"]["profiler"] is None
    job.description["TrainingJobName"] = "other"
    assert job.name == "job-1"


def test_describe_takes_names_clients_sessions_and_objects():
    """From any surface, or none."""

    class Client:
        def describe_training_job(self, TrainingJobName):  # noqa: N803 - boto3's spelling
            return {**DESCRIPTION, "TrainingJobName": TrainingJobName}

    class SdkSession:
        sagemaker_client = Client()

    class BotoSession:
        def client(self, name):
            assert name == "sagemaker"
            return Client()

    class Resource:
        training_job_name = "by-resource"

    class Describing:
        def describe(self):
            return {**DESCRIPTION, "TrainingJobName": "by-itself"}

    for session in (Client(), SdkSession(), BotoSession()):
        assert TrainingJob.describe("by-name", session).name == "by-name"
    assert TrainingJob.describe(Resource(), Client()).name == "by-resource"
    job = TrainingJob.describe(Describing())
    assert job.name == job.refresh().name == "by-itself"


def test_describe_of_a_number_is_refused():
    """A job is given by its name or by an object that has one."""
    with pytest.raises(SMDebugTypeError, match="job must be the name"):
        TrainingJob.describe(5, None)


def test_client_of_a_region_name_is_refused():
    """A session is given as an object, not by the name of a region."""
    with pytest.raises(SMDebugTypeError, match="session must be"):
        sagemaker_client("us-east-1")


def test_wait_for_rules_ends_with_the_last_of_them(capsys):
    """Each change is shown once."""
    answers = iter([with_statuses("InProgress", "InProgress"), with_statuses("NoIssuesFound", "Stopped")])
    seen, slept = [], []
    job = TrainingJob(with_statuses("InProgress", "InProgress"), lambda: next(answers))
    rules = job.wait_for_rules(progress=seen.append, sleep=slept.append, poll_seconds=3)
    assert rules.are_final
    assert len(seen) == 2
    assert slept == [3, 3]
    assert capsys.readouterr().err == ""


def test_wait_for_rules_beyond_its_time_names_the_rules_left():
    """Waiting ends after the given time with an error that has the rules left."""
    now = iter(range(0, 1000, 10))
    job = TrainingJob(with_statuses("InProgress", "Error"), lambda: with_statuses("InProgress", "Error"))
    with pytest.raises(SMDebugRuntimeError, match=r"waited 25 seconds.*A \(InProgress\)$"):
        job.wait_for_rules(25, progress=False, sleep=lambda _: None, clock=lambda: float(next(now)))


def test_wait_for_rules_of_a_job_that_cannot_be_described_again_is_refused():
    """A job made of a description alone cannot be waited for."""
    with pytest.raises(SMDebugRuntimeError, match="cannot be asked again"):
        TrainingJob(with_statuses("InProgress", "Error")).wait_for_rules(progress=False)


def test_wait_for_rules_of_a_job_without_any_returns_at_once():
    """There is nothing to wait for."""
    job = TrainingJob({"TrainingJobName": "j", "TrainingJobStatus": "Completed"})
    assert len(job.wait_for_rules()) == 0


def test_trial_of_a_job_without_a_hook_is_refused():
    """It saves no tensors."""
    with pytest.raises(SMDebugValueError, match="saves no tensors"):
        TrainingJob({"TrainingJobName": "j"}).trial()


def test_trial_opens_what_the_job_saved(monkeypatch):
    """With the job's name as its label unless told otherwise."""
    opened = []
    monkeypatch.setattr("sagemaker_debug_ext.trials.create_trial", lambda path, **given: opened.append((path, given)))
    TrainingJob(DESCRIPTION).trial()
    TrainingJob(DESCRIPTION).trial(name="mine", wait_seconds=5)
    path = "s3://b/dbg/job-1/debug-output"
    assert opened == [(path, {"name": "job-1", "wait_seconds": None}), (path, {"name": "mine", "wait_seconds": 5})]


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_trial_of_a_job_that_has_ended_is_not_waited_for(monkeypatch, status):
    """Nothing more comes from it."""
    opened = []
    monkeypatch.setattr("sagemaker_debug_ext.trials.create_trial", lambda path, **given: opened.append(given))
    TrainingJob({**DESCRIPTION, "TrainingJobStatus": status}).trial()
    assert opened == [{"name": "job-1", "wait_seconds": 0}]
