"""Watchers outside the container of training, beside jobs on the server of this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

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
from support.laptop import TRAIN

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

ROLE = "arn:aws:iam::123456789012:role/Watcher"
WATCHER = [sys.executable, "-m", "sagemaker_debug_ext.watch.program", "--place", "pod"]


def environment_of(depth="0", **settings):
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": depth}, actions=StopTraining())
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[rule],
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(poll_seconds=0.5, **settings),
    )
    return request["Environment"]


def status_of(bucket, name):
    found = bucket.list_objects_v2(Bucket="my-bucket", Prefix=f"output/{name}/self-managed/status.json")
    if not found.get("Contents"):
        return {"rules": [], "watcher": {}, "trial": {}}
    content = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/self-managed/status.json")["Body"].read()
    return json.loads(content)


def test_processing_job_when_a_rule_fires_then_stops_the_training_job(bucket, submit, wait_for, sagemaker):
    """It reads the settings from the description of the training job, and a second one is refused."""
    submit("processed", TRAIN, Environment=environment_of(place="processing"))
    request = watcher_job_request(training_job_name="processed", image_uri="image", role_arn=ROLE)
    sagemaker.create_processing_job(**request)
    with pytest.raises(sagemaker.exceptions.ResourceInUse):
        sagemaker.create_processing_job(**request)
    assert wait_for("processed", "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    deadline = time.monotonic() + 60
    name = request["ProcessingJobName"]
    while (job := sagemaker.describe_processing_job(ProcessingJobName=name))["ProcessingJobStatus"] == "InProgress":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert job["ProcessingJobStatus"] == "Completed", job
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
