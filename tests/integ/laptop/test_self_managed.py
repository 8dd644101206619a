"""Self-managed jobs on the server of this machine: events, and rules that are evaluated after the job."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import os
import subprocess
import sys

import pytest
from botocore.client import BaseClient
from botocore.httpsession import URLLib3Session

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, rule_configs
from sagemaker_debug_ext.catalog import RuleConfig, list_rule_specs
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.sdk import TrainingJob, attach_debugger
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.permissions import asked_of_key, described, refused_and_unused, statements_of

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")

TRAIN = """
import os, signal, time
import torch
import sagemaker_debug_ext.pytorch as smd

torch.manual_seed(0)
hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
for step in range(22):
    loss(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    with torch.no_grad():  # an optimizer would import a compiler, which takes longer than the training
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
    model.zero_grad()
if os.environ["KILLED"] == "yes":
    time.sleep(3)  # what is written in the background is written then
    os.kill(os.getpid(), signal.SIGKILL)
"""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
HOOK = DebuggerHookConfig(hook_parameters={"save_interval": 5})
RULES = [
    Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"}),
    Rule.sagemaker(rule_configs.exploding_tensor()),
    Rule.sagemaker(rule_configs.loss_not_decreasing()),
    Rule.sagemaker(rule_configs.unchanged_tensor(), rule_parameters={"collection_names": "weights"}),
]


def environment(place, killed="no", rules=RULES, hook=HOOK, **options):
    """Return the variables of a job."""
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}, "Environment": {"KILLED": killed}},
        debugger_hook_config=hook,
        rules=rules,
        self_managed=SelfManaged(place=place, poll_seconds=0.2, **options),
    )
    return request["Environment"]


@pytest.fixture
def command(server):
    """Return a function that runs a command of this package against the server."""

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "self-managed", *words],
            env={**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": server.url},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def verdicts(bucket, name):
    body = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/self-managed/status.json")["Body"].read()
    return {
        rule["RuleConfigurationName"]: (rule["RuleEvaluationStatus"], rule["first_issue_step"])
        for rule in json.loads(body)["rules"]
    }


SICK = """
import collections, os, signal
import torch
import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext import modes

torch.manual_seed(0)
hook = smd.Hook.create_from_json_file()
linear, nn = torch.nn.Linear, torch.nn
layers = {"first": linear(4, 8), "relu": nn.ReLU(), "second": linear(8, 8), "tanh": nn.Tanh(), "last": linear(8, 2)}
model, loss = nn.Sequential(collections.OrderedDict(layers)), nn.CrossEntropyLoss()
nn.init.constant_(layers["first"].bias, -1e6)  # nothing passes
hook.register_module(model)
hook.register_loss(loss)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
images, labels = 1000 * torch.rand(32, 4), (torch.arange(32) == 0).long()
for step in range(40):
    hook.set_mode(modes.EVAL if step % 8 == 7 else modes.TRAIN)
    result = loss(model(images * (float("inf") if step == 38 else 1)), labels)
    if step % 8 != 7:
        (-result).backward()  # up, and the gradients are never reset
        optimizer.step()
if os.environ["KILLED"] == "yes":
    hook._dispatcher.flush(600)
    os.kill(os.getpid(), signal.SIGKILL)
"""
"""A training in which a lot is wrong."""
PARAMETERS = {
    "ClassImbalance": {"labels_regex": ".*Loss_input_1", "predictions_regex": ".*Loss_input_0", "argmax": "True"},
    "Confusion": {"labels": "CrossEntropyLoss_input_1", "predictions": "CrossEntropyLoss_input_0"},
    "LossNotDecreasing": {"num_steps": "3"},
    "Overtraining": {"patience_train": "2", "patience_validation": "2"},
    "AllZero": {"tensor_regex": ".*relu_output"},
    "SimilarAcrossRuns": {"other_trials": "s3://my-bucket/other"},
    "TensorVariance": {"tensor_regex": ".*weight", "max_threshold": "1e-9"},
    "UnchangedTensor": {"tensor_regex": ".*first.weight"},
}


def test_resume_when_a_job_was_killed_then_each_rule_has_the_result_of_an_undisturbed_watcher(
    submit, wait_for, bucket, command, server, monkeypatch
):
    """The trial of a killed job has no end marker; resume writes it."""
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": server.url}.items():
        monkeypatch.setenv(name, value)
    write_trial("s3://my-bucket/other", {(ModeKeys.TRAIN, 0): {"CrossEntropyLoss_output_0": 1.0}})
    specs = list_rule_specs("debugger")
    settings = {
        "rules": [Rule.sagemaker(RuleConfig(spec), rule_parameters=PARAMETERS.get(spec.name)) for spec in specs],
        "hook": DebuggerHookConfig(
            hook_parameters={"save_interval": "1"},
            collection_configs=[CollectionConfig("all", {"include_regex": ".*"})],
        ),
    }
    submit("undisturbed", SICK, Environment=environment("container", **settings, drain_seconds=600))
    assert wait_for("undisturbed", "Completed", "Failed")["TrainingJobStatus"] == "Completed"
    submit("killed", SICK, Environment=environment("here", killed="yes", **settings))
    assert wait_for("killed", "Completed", "Failed")["TrainingJobStatus"] == "Failed"
    assert command("resume", "killed").returncode == 1  # rules have found issues
    found = verdicts(bucket, "killed")
    assert found == verdicts(bucket, "undisturbed")
    assert set(found) == {spec.name for spec in specs}
    assert [verdict for verdict, _ in found.values()].count("IssuesFound") > 15


def test_resume_when_training_did_not_wait_for_the_rules_then_evaluates_the_rest(submit, wait_for, bucket, command):
    """With ``drain_seconds=0`` and rules that look too seldom."""
    submit("hasty", TRAIN, Environment={**environment("container", drain_seconds=0), "KILLED": "no"})
    assert wait_for("hasty", "Completed", "Failed")["TrainingJobStatus"] == "Completed"
    assert command("resume", "hasty").returncode == 1  # a rule has found an issue
    found = verdicts(bucket, "hasty")
    assert found["VanishingGradient"] == ("IssuesFound", 0)
    assert {status for status, _ in found.values()} == {"IssuesFound", "NoIssuesFound"}


def test_resume_when_the_job_is_running_then_refuses(submit, wait_for, command, sagemaker):
    """Its watcher is still at work."""
    submit("running", "import time; time.sleep(300)", Environment=environment("here"))
    wait_for("running", "InProgress")
    report = command("resume", "running")
    sagemaker.stop_training_job(TrainingJobName="running")
    assert report.returncode == 2
    assert "must be a job that has ended (got 'running', which is InProgress)" in report.stderr
    wait_for("running", "Stopped")


def test_status_when_a_rule_fires_then_an_event_with_the_changed_rule_reaches_a_queue(server, submit, wait_for, bucket):
    """The pattern of the documentation matches."""
    sqs, events = server.client("sqs"), server.client("events")
    url = sqs.create_queue(QueueName="changes")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {
        "source": ["sagemaker-debug-ext"],
        "detail": {"ChangedRule": {"RuleEvaluationStatus": ["IssuesFound"]}},
    }
    events.put_rule(Name="changes", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="changes", Targets=[{"Id": "queue", "Arn": arn}])
    submit("changing", TRAIN, Environment=environment("container"))
    wait_for("changing", "Completed")
    messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    detail = json.loads(messages[0]["Body"])["detail"]
    assert detail["ChangedRule"]["RuleConfigurationName"] == "VanishingGradient"
    assert detail["TrainingJobArn"].endswith(":training-job/changing")


def test_metrics_when_asked_for_then_count_issues_and_name_the_judged_step(server, submit, wait_for):
    """The last value comes with the end of the watcher."""
    submit("counting", TRAIN, Environment=environment("container", metrics=True))
    wait_for("counting", "Completed")
    now = dt.datetime.now(dt.timezone.utc)
    cloudwatch = server.client("cloudwatch")
    maxima = {
        name: cloudwatch.get_metric_statistics(
            Namespace="SageMakerDebugExt",
            MetricName=name,
            Dimensions=[{"Name": "TrainingJobName", "Value": "counting"}],
            StartTime=now - dt.timedelta(hours=1),
            EndTime=now + dt.timedelta(hours=1),
            Period=7200,
            Statistics=["Maximum"],
        )["Datapoints"][0]["Maximum"]
        for name in ("IssuesFound", "JudgedStep")
    }
    assert maxima["IssuesFound"] == 1
    assert maxima["JudgedStep"] >= 0


def test_settings_in_a_channel_when_a_job_is_submitted_by_a_client_then_it_is_watched(
    server, submit, wait_for, bucket, command, monkeypatch
):
    """Container, watcher and reader find them there."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    client = server.client("sagemaker")
    settings = {"debugger_hook_config": HOOK, "rules": RULES}
    with attach_debugger(client, **settings, self_managed=SelfManaged(poll_seconds=0.2, config="channel")):
        submit("channelled", TRAIN, client=client, Environment={"KILLED": "no"})
    description = wait_for("channelled", "Completed", "Failed")
    assert description["TrainingJobStatus"] == "Completed"
    assert [channel["ChannelName"] for channel in description["InputDataConfig"]] == ["sagemaker_debug_ext"]
    assert verdicts(bucket, "channelled")["VanishingGradient"] == ("IssuesFound", 0)
    job = TrainingJob.describe("channelled", client)
    assert {rule.name: rule.status for rule in job.rules}["VanishingGradient"] == "IssuesFound"
    shown = command("show", "channelled")
    assert json.loads(shown.stdout)["hook"]["HookParameters"] == {"save_interval": "5"}
    assert command("resume", "channelled").returncode == 1
    folder = job.description["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"]
    bucket.delete_object(Bucket="my-bucket", Key=folder.removeprefix("s3://my-bucket/") + "job.json")
    assert "which is gone" in command("show", "channelled").stderr


def test_reader_when_it_describes_a_job_then_asks_little_and_for_nothing_else_than_its_policy_allows(
    server, submit, wait_for, monkeypatch
):
    """One request each to SageMaker and S3 for the statuses; all rights of the policies of readers are of use."""
    submit("digits-described", TRAIN, Environment=environment("container"))
    wait_for("digits-described", "Completed")
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    requests, calls = [], []
    send, call = URLLib3Session.send, BaseClient._make_api_call

    def record_request(self, request):
        requests.append((request.method, request.url.removeprefix(server.url)))
        return send(self, request)

    def record_call(self, operation, parameters):
        calls.append(described(self.meta.service_model.service_name, operation, parameters))
        return call(self, operation, parameters)

    monkeypatch.setattr(URLLib3Session, "send", record_request)
    monkeypatch.setattr(BaseClient, "_make_api_call", record_call)
    job = TrainingJob.describe("digits-described", server.client("sagemaker"))
    assert {rule.name: rule.status for rule in job.rules}["VanishingGradient"] == "IssuesFound"
    assert requests == [("POST", "/"), ("GET", "/my-bucket/output/digits-described/self-managed/status.json")]
    trial = job.trial()
    assert all(trial.tensor(name).values() for name in trial.tensor_names())
    assert refused_and_unused(calls, statements_of("Reader")) == ([], set())
    assert refused_and_unused(asked_of_key(calls), statements_of("ReaderKey")) == ([], set())
