"""Watchers outside the container of training, beside jobs on the server of this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import boto3
import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests.processing import watcher_job_request
from sagemaker_debug_ext.sdk import TrainingJob, _watcher_jobs, attach_debugger
from support.laptop import OBSTINATE, TRAIN
from support.wheels import write_wheels_offline

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

ROLE = "arn:aws:iam::123456789012:role/Watcher"
WATCHER = [sys.executable, "-m", "sagemaker_debug_ext.watch.program", "--place", "pod"]


def settings_of(depth="0"):
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": depth}, actions=StopTraining())
    hook = DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})])
    return {"rules": [rule], "debugger_hook_config": hook}


def environment_of(depth="0", **settings):
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        **settings_of(depth),
        self_managed=SelfManaged(poll_seconds=0.5, **settings),
    )
    return request["Environment"]


def status_of(bucket, name):
    found = bucket.list_objects_v2(Bucket="my-bucket", Prefix=f"output/{name}/self-managed/status.json")
    if not found.get("Contents"):
        return {"rules": [], "watcher": {}, "trial": {}}
    content = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/self-managed/status.json")["Body"].read()
    return json.loads(content)


def end_of(sagemaker, name):
    """Wait until a processing job has ended, and return its description."""
    deadline = time.monotonic() + 100
    while (job := sagemaker.describe_processing_job(ProcessingJobName=name))["ProcessingJobStatus"] == "InProgress":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return job


def watcher_of(name):
    """Return the name of the processing job that watches a job."""
    request = watcher_job_request(training_job_name=name, image_uri="image", role_arn=ROLE)
    return request["ProcessingJobName"]


@pytest.fixture
def own_clients(server, monkeypatch):
    """Let the clients of this process use the server."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(("name", "config"), [("by-client", "environment"), ("by-session", "channel")])
@pytest.mark.usefixtures("own_clients")
def test_processing_job_when_settings_name_an_image_or_wheels_then_is_started_with_the_training_job(
    name, config, server, bucket, submit, wait_for, sagemaker, tmp_path, monkeypatch
):
    """By a client or a session, once the training job is created; settings in a channel are found, too."""
    wheels = None if name == "by-client" else write_wheels_offline("s3://my-bucket/wheels", tmp_path, monkeypatch)
    client = server.client("sagemaker")
    session = boto3.Session(region_name="us-east-1")
    options = SelfManaged(
        place="processing",
        rule_image_uri=None if wheels else "my/rules:1",
        rule_wheels_uri=wheels,
        rule_role_arn=ROLE,
        poll_seconds=0.5,
        config=config,
    )
    attached = attach_debugger(client if name == "by-client" else session, **settings_of(), self_managed=options)
    with attached:
        submit(name, OBSTINATE, client=client if name == "by-client" else session.client("sagemaker"))
    job = sagemaker.describe_processing_job(ProcessingJobName=watcher_of(name))
    assert job["AppSpecification"]["ImageUri"] == ("image" if wheels else "my/rules:1")
    assert job["RoleArn"] == ROLE
    assert job["StoppingCondition"] == {"MaxRuntimeInSeconds": 600 + 3600}
    assert wait_for(name, "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    assert end_of(sagemaker, job["ProcessingJobName"])["ProcessingJobStatus"] == "Completed"
    assert status_of(bucket, name)["watcher"]["place"] == "processing"
    submit(f"{name}-later", "pass", client=client)  # detached
    with pytest.raises(sagemaker.exceptions.ResourceNotFound):
        sagemaker.describe_processing_job(ProcessingJobName=watcher_of(f"{name}-later"))


@pytest.mark.usefixtures("own_clients")
def test_processing_job_when_it_cannot_be_started_then_the_training_job_runs_and_a_warning_says_what_to_do(
    server, submit, wait_for, sagemaker, caplog
):
    """Such as with a role that is none."""
    client = server.client("sagemaker")
    options = SelfManaged(place="processing", rule_image_uri="my/rules:1", rule_role_arn="Watcher")
    with attach_debugger(client, **settings_of("100"), self_managed=options):
        submit("alone", "pass", client=client)
    assert "training job alone runs, but nothing evaluates its rules" in caplog.text
    assert "sagemaker-debug self-managed watch alone" in caplog.text
    assert wait_for("alone", "Completed", "Failed")["TrainingJobStatus"] == "Completed"


def test_processing_job_when_the_container_has_a_watcher_then_leaves_the_rules_to_it(
    bucket, submit, wait_for, sagemaker
):
    """It ends at once, and the one that works goes on."""
    submit("contained", TRAIN, Environment=environment_of("100", drain_seconds=5))
    while not status_of(bucket, "contained")["trial"].get("judged_step"):
        time.sleep(0.2)
    request = watcher_job_request(training_job_name="contained", image_uri="image", role_arn=ROLE)
    sagemaker.create_processing_job(**request)
    job = end_of(sagemaker, request["ProcessingJobName"])
    assert job["ProcessingJobStatus"] == "Completed", job
    status = status_of(bucket, "contained")
    assert (status["watcher"]["place"], status["generation"]) == ("container", 1)
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["InProgress"]
    sagemaker.stop_training_job(TrainingJobName="contained")
    wait_for("contained", "Stopped")


def test_processing_job_when_its_time_is_over_then_the_next_one_goes_on(bucket, submit, wait_for, sagemaker):
    """The service gives it nine days, and training up to 28."""
    submit("long", TRAIN, Environment=environment_of("100", place="processing"))
    requests = [
        watcher_job_request(
            training_job_name="long", image_uri="image", role_arn=ROLE, number=number, max_runtime_in_seconds=seconds
        )
        for number, seconds in ((1, 20), (2, 600))
    ]
    assert requests[1]["ProcessingJobName"] == requests[0]["ProcessingJobName"] + "-2"
    sagemaker.create_processing_job(**requests[0])
    assert end_of(sagemaker, requests[0]["ProcessingJobName"])["ProcessingJobStatus"] == "Completed"
    status = status_of(bucket, "long")
    assert (status["watcher"]["phase"], status["generation"]) == ("handover", 1)
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["InProgress"]
    sagemaker.create_processing_job(**requests[1])
    sagemaker.stop_training_job(TrainingJobName="long")
    assert end_of(sagemaker, requests[1]["ProcessingJobName"])["ProcessingJobStatus"] == "Completed"
    status = status_of(bucket, "long")
    assert (status["watcher"]["phase"], status["generation"]) == ("done", 2)
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["NoIssuesFound"]
    wait_for("long", "Stopped")


@pytest.mark.usefixtures("own_clients")
def test_processing_job_when_its_time_is_over_then_its_submitter_starts_the_next_one(
    server, bucket, submit, wait_for, sagemaker, monkeypatch
):
    """As soon as it asks for the state of the training job; nobody else reads the status."""
    make = _watcher_jobs.watcher_job_of

    def make_short(request, options, number=1):
        watcher = make(request, options, number)
        if number == 1:
            watcher["StoppingCondition"] = {"MaxRuntimeInSeconds": 20}
            watcher["AppSpecification"]["ContainerArguments"][-1] = "6"
        return watcher

    monkeypatch.setattr(_watcher_jobs, "watcher_job_of", make_short)
    monkeypatch.setattr(_watcher_jobs, "_LOOK_SECONDS", 0.5)
    client = server.client("sagemaker")
    options = SelfManaged(place="processing", rule_image_uri="my/rules:1", rule_role_arn=ROLE, poll_seconds=0.5)
    with attach_debugger(client, **settings_of("100"), self_managed=options):
        submit("followed", TRAIN.replace("100_000", "800"), client=client)
        assert wait_for("followed", "Completed", "Failed", client=client)["TrainingJobStatus"] == "Completed"
    for suffix in ("", "-2"):
        assert end_of(sagemaker, watcher_of("followed") + suffix)["ProcessingJobStatus"] == "Completed"
    status = status_of(bucket, "followed")
    assert (status["watcher"]["phase"], status["generation"]) == ("done", 2)
    with pytest.raises(sagemaker.exceptions.ResourceNotFound):
        sagemaker.describe_processing_job(ProcessingJobName=watcher_of("followed") + "-3")


def test_processing_job_when_a_rule_fires_then_stops_the_training_job(bucket, submit, wait_for, sagemaker):
    """It reads the settings from the description of the training job, and a second one is refused."""
    submit("processed", OBSTINATE, Environment=environment_of(place="processing"))
    request = watcher_job_request(training_job_name="processed", image_uri="image", role_arn=ROLE)
    sagemaker.create_processing_job(**request)
    with pytest.raises(sagemaker.exceptions.ResourceInUse):
        sagemaker.create_processing_job(**request)
    assert wait_for("processed", "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    assert end_of(sagemaker, request["ProcessingJobName"])["ProcessingJobStatus"] == "Completed"
    status = status_of(bucket, "processed")
    assert status["watcher"]["place"] == "processing"
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["IssuesFound"]


@pytest.mark.parametrize("seconds", [0, 777_601])
def test_request_when_the_service_allows_no_such_time_then_is_refused(seconds):
    """With the limit."""
    with pytest.raises(SMDebugValueError, match=rf"1 to 777600 \(got {seconds}\)"):
        watcher_job_request(
            training_job_name="digits-1", image_uri="image", role_arn=ROLE, max_runtime_in_seconds=seconds
        )


@pytest.mark.usefixtures("own_clients")
@pytest.mark.parametrize("is_killed", [False, True])
def test_watch_when_called_by_the_submitter_then_evaluates_in_its_process(
    bucket, submit, wait_for, sagemaker, is_killed
):
    """Also to the end of a job whose hook was killed before it could mark the end."""
    end = "time.sleep(3); import os; os.kill(os.getpid(), 9)\n" if is_killed else ""
    name = f"here-{is_killed}"
    depth = "100" if is_killed else "0"
    script = TRAIN.replace("100_000", "22") + end if is_killed else TRAIN
    submit(name, script, Environment=environment_of(depth, place="here", events=False))
    wait_for(name, "InProgress")
    job = TrainingJob.describe(name, sagemaker).watch()
    assert [rule.status for rule in job.rules] == ["NoIssuesFound" if is_killed else "IssuesFound"]
    wait_for(name, *(["Failed"] if is_killed else ["Stopped", "Completed"]))  # the script may end before the stop
    assert status_of(bucket, name)["watcher"]["place"] == "here"
    with pytest.raises(SMDebugValueError, match="no settings of a self-managed job"):
        TrainingJob({**job.description, "Environment": {}}).watch()


@pytest.fixture
def start(server):
    """Return a function that starts a program with the variables of a job, as a cluster does."""
    processes = []

    def start(command, name, variables):
        environment = {
            **os.environ,
            **variables,
            "SAGEMAKER_DEBUG_EXT_JOB_NAME": name,
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        processes.append(subprocess.Popen(command, env=environment))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_container_of_the_watcher_when_a_rule_fires_then_the_script_is_asked_to_stop(bucket, start):
    """The hook of the other container finds the request on S3."""
    variables = environment_of(place="pod", stop="cooperative", events=False)
    watcher = start(WATCHER, "pod-1", variables)
    training = start([sys.executable, "-c", TRAIN], "pod-1", variables)
    assert training.wait(100) == 0
    assert watcher.wait(60) == 0
    status = status_of(bucket, "pod-1")
    assert status["watcher"]["place"] == "pod"
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["IssuesFound"]


def test_container_of_the_watcher_when_training_was_killed_then_ends_with_a_signal(bucket, start):
    """As Kubernetes sends it to a container beside one that has ended; the trial is marked as ended."""
    variables = environment_of("100", place="pod", drain_seconds=5, events=False)
    watcher = start(WATCHER, "pod-2", variables)
    training = start([sys.executable, "-c", TRAIN], "pod-2", variables)
    deadline = time.monotonic() + 60
    while not status_of(bucket, "pod-2")["trial"].get("judged_step"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    training.kill()
    training.wait()
    watcher.send_signal(signal.SIGTERM)
    assert watcher.wait(60) == 0
    (rule,) = status_of(bucket, "pod-2")["rules"]
    assert rule["RuleEvaluationStatus"] in ("NoIssuesFound", "Stopped")
