"""What fails around a self-managed job on the server of this machine, and what its user sees."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from sagemaker_debug_ext import (
    ActionList,
    CollectionConfig,
    DebuggerHookConfig,
    Email,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.sdk.self_managed import with_rule_statuses
from support.laptop import OBSTINATE, TRAIN

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

KILLED = TRAIN.replace("100_000", "22") + "import os; time.sleep(10); os.kill(os.getpid(), 9)\n"
"""The hook has written every step, but not that they were the last."""


def environment_of(actions, **settings):
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=actions)
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[rule, Rule.sagemaker(rule_configs.tree_depth(), name="Open", rule_parameters={"depth": "100"})],
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(**{"poll_seconds": 0.5, "events": False, **settings}),
    )
    return request["Environment"]


def rules_of(bucket, name):
    """Return the rules of ``status.json``; none before the watcher has written it."""
    try:
        answer = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/self-managed/status.json")
    except bucket.exceptions.NoSuchKey:
        return []
    return json.loads(answer["Body"].read())["rules"]


@pytest.fixture
def log_of(server):
    """Return a function that returns the lines that a job has printed."""

    def read(name, at=server):
        logs = at.client("logs")
        events = logs.filter_log_events(
            logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=f"{name}/", limit=10_000
        )["events"]
        return "\n".join(event["message"] for event in events)

    return read


@pytest.fixture(scope="module")
def denying(start_server):
    """A server on which the roles of jobs may neither stop jobs nor send events."""
    return start_server("--deny", "sagemaker:StopTrainingJob", "--deny", "events:PutEvents")


@pytest.fixture(scope="module")
def read_only(start_server):
    """A server on which the roles of jobs may write nothing."""
    return start_server("--deny", "s3:PutObject")


def put_script(server, name, script):
    """Submit a script as a job, with all rights of the submitter; return the function for its request."""
    s3 = server.client("s3")
    s3.create_bucket(Bucket="my-bucket")
    s3.put_object(Bucket="my-bucket", Key=f"code/{name}/train.py", Body=script.encode())
    return s3


def test_stop_when_the_role_may_not_stop_jobs_then_the_script_ends_by_itself(denying, request_of, wait_for, log_of):
    """It was asked first; status and log name the denied requests, also those for events. The submitter may stop."""
    client, s3 = denying.client("sagemaker"), put_script(denying, "denied", TRAIN)
    environment = environment_of(StopTraining(), events=True)
    client.create_training_job(**request_of("denied", Environment=environment))
    description = wait_for("denied", "Completed", "Stopped", "Failed", client=client)
    assert description["TrainingJobStatus"] == "Completed"
    rule, _ = rules_of(s3, "denied")
    assert rule["RuleEvaluationStatus"] == "IssuesFound"
    (action,) = rule["actions"]
    assert action["outcome"].startswith("failed: ClientError: An error occurred (AccessDeniedException)")
    log = log_of("denied", denying)
    assert "not authorized to perform: sagemaker:StopTrainingJob" in log
    assert "not authorized to perform: events:PutEvents" in log
    s3.put_object(Bucket="my-bucket", Key="code/stopped/train.py", Body=b"import time; time.sleep(300)")
    client.create_training_job(**request_of("stopped"))
    client.stop_training_job(TrainingJobName="stopped")
    wait_for("stopped", "Stopped", client=client)


def test_job_when_its_role_may_not_write_then_training_goes_on_and_the_log_names_the_right(
    read_only, request_of, wait_for, log_of, monkeypatch
):
    """Nothing is saved; five minutes after the job, its rules are errors with the command that evaluates them."""
    client = read_only.client("sagemaker")
    put_script(read_only, "unwritten", TRAIN.replace("100_000", "22") + "print('trained')\n")
    client.create_training_job(**request_of("unwritten", Environment=environment_of(None)))
    description = wait_for("unwritten", "Completed", "Stopped", "Failed", client=client)
    assert description["TrainingJobStatus"] == "Completed"
    log = log_of("unwritten", read_only)
    assert "trained" in log
    assert "s3:PutObject" in log
    assert "output/unwritten/debug-output" in log
    for name, value in {
        "AWS_ENDPOINT_URL": read_only.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    later = description["TrainingEndTime"] + dt.timedelta(minutes=6)
    rules = with_rule_statuses(description, later)["DebugRuleEvaluationStatuses"]
    assert {rule["RuleEvaluationStatus"] for rule in rules} == {"Error"}
    assert all("`sagemaker-debug self-managed resume JOB` evaluates" in rule["StatusDetails"] for rule in rules)


@pytest.mark.parametrize("action", ["StopTrainingJob", "iam:PassRole", "s3:put"])
def test_action_when_it_cannot_be_denied_then_is_refused(action, capsys):
    """With those that can."""
    assert main(["laptop", "--deny", action]) == 2
    assert f"like sagemaker:StopTrainingJob, of events, s3, sagemaker, sns (got '{action}')" in capsys.readouterr().err


def test_message_when_the_topic_is_gone_then_other_actions_are_carried_out(server, bucket, submit, wait_for, log_of):
    """The job is stopped; status and log say that nobody was told."""
    sns = server.client("sns")
    topic = sns.create_topic(Name="gone")["TopicArn"]
    sns.delete_topic(TopicArn=topic)
    actions = ActionList(Email("me@example.com"), StopTraining())
    submit("untold", OBSTINATE, Environment=environment_of(actions, topic_arn=topic))
    assert wait_for("untold", "Completed", "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    rule, _ = rules_of(bucket, "untold")
    assert rule["RuleEvaluationStatus"] == "IssuesFound"
    outcomes = {action["name"]: action["outcome"] for action in rule["actions"]}
    assert outcomes["stoptraining"] == "done"
    assert outcomes["email"].startswith("failed: NotFoundException: An error occurred (NotFound)")
    assert "NotFound" in log_of("untold")


SPOT = f"""
import os, pathlib
checkpoint = pathlib.Path(os.environ["CHECKPOINTS"], "model")
is_first = not checkpoint.exists()
{TRAIN.replace("100_000", "10")}
if is_first:
    checkpoint.write_text("learned")
    time.sleep(600)
"""
"""Trains for ten steps; if it finds no checkpoint, it writes one and goes on for ever."""


def test_job_when_interrupted_then_goes_on_with_its_checkpoints_in_the_same_trial(
    server, bucket, submit, wait_for, capsys
):
    """As on Spot instances. A job that is not training, and a folder without a server, are refused."""
    environment = {**environment_of(None, place="here"), "CHECKPOINTS": "/opt/ml/checkpoints"}
    checkpoints = {"S3Uri": "s3://my-bucket/checkpoints", "LocalPath": "/opt/ml/checkpoints"}
    command = ["laptop", "--work-dir", str(server.folder), "interrupt", "spot"]
    submit("spot", SPOT, Environment=environment, CheckpointConfig=checkpoints)
    while "Contents" not in bucket.list_objects_v2(Bucket="my-bucket", Prefix="checkpoints/model"):
        assert wait_for("spot", "InProgress")
    assert main(command) == 0
    description = wait_for("spot", "Completed", "Failed")
    assert description["TrainingJobStatus"] == "Completed", description["FailureReason"]
    assert "Interrupted" in [transition["Status"] for transition in description["SecondaryStatusTransitions"]]
    keys = bucket.list_objects_v2(Bucket="my-bucket", Prefix="output/spot/debug-output/events/")["Contents"]
    assert {int(item["Key"].split("_")[0].rpartition("/")[2]) for item in keys} == {0, 5, 10, 15}
    assert main(command) == 2
    assert "'spot' is not training: it is Completed" in capsys.readouterr().err
    assert main(["laptop", "--work-dir", str(server.folder / "other"), "interrupt", "spot"]) == 2
    assert "no server uses the work folder" in capsys.readouterr().err


@pytest.fixture
def program(server):
    """Return a function that runs a module of this package against the server."""
    processes = []

    def start(module, *words):
        own = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
        process = subprocess.Popen(
            [sys.executable, "-m", f"sagemaker_debug_ext.{module}", *words],
            env={**os.environ, **own, "AWS_ENDPOINT_URL": server.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_job_when_deleted_while_it_is_watched_then_the_rules_end_and_their_results_are_kept(
    bucket, submit, wait_for, sagemaker, program
):
    """Without an end mark of the hook; the folder of the job answers what SageMaker no longer does."""
    submit("deleted", KILLED, Environment=environment_of(StopTraining(), place="here", stop="off"))
    wait_for("deleted", "InProgress")
    watcher = program("watch.program", "--job", "deleted", "--place", "here")
    wait_for("deleted", "Failed")
    sagemaker.delete_training_job(TrainingJobName="deleted")
    _, errors = watcher.communicate(timeout=120)
    assert watcher.returncode == 0, errors
    judged = rules_of(bucket, "deleted")
    assert [rule["RuleEvaluationStatus"] for rule in judged] == ["IssuesFound", "NoIssuesFound"]

    unknown = program("cli.main", "self-managed", "status", "deleted")
    assert "not found" in unknown.communicate(timeout=60)[1]
    for command in ("status", "resume"):
        shown = program("cli.main", "self-managed", command, "s3://my-bucket/output/deleted")
        text, errors = shown.communicate(timeout=60)
        assert shown.returncode == 1, errors  # a rule has found an issue
        assert "IssuesFound" in text
    missing = program("cli.main", "self-managed", "status", "s3://my-bucket/output/other")
    assert "output/other/self-managed/spec.json, which is missing" in missing.communicate(timeout=60)[1]
    assert missing.returncode == 2
