"""The processing jobs that follow each other, started by the process that submitted the training job."""

from __future__ import annotations

import json
import types

import botocore.exceptions
import pytest

from sagemaker_debug_ext import Rule, SelfManaged, rule_configs
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.sdk import _watcher_jobs
from sagemaker_debug_ext.store.backends import MemoryBackend

CONTEXT = {"client_region": "us-east-1"}
STATUS = {
    "watcher": {"phase": "handover", "heartbeat_at": "2026-11-23T12:00:00+00:00"},
    "rules": [{"RuleEvaluationStatus": "InProgress"}],
}


class Machine:
    """The time, and a service that refuses the next requests with the errors given."""

    def __init__(self):
        self.now = 0.0
        self.errors = []
        self.started = []
        client = types.SimpleNamespace(create_processing_job=self._create)
        self.jobs = _watcher_jobs._WatcherJobs(lambda _: client, lambda: self.now)

    def _create(self, **request):
        if self.errors:
            code = self.errors.pop(0)
            raise botocore.exceptions.ClientError({"Error": {"Code": code, "Message": "no"}}, "CreateProcessingJob")
        self.started.append(request["ProcessingJobName"].rpartition("-watch-")[2][8:])

    def describe_after(self, seconds):
        """Describe the training job."""
        self.now += seconds
        self.jobs.described({"TrainingJobName": "digits-1"}, CONTEXT)


@pytest.fixture
def machine(monkeypatch):
    """A training job with a watcher that has just handed over."""
    state = MemoryBackend()
    state.write("status.json", [json.dumps(STATUS).encode()])
    monkeypatch.setattr(_watcher_jobs, "open_backend", lambda _: state)
    request = self_managed_request(
        {
            "TrainingJobName": "digits-1",
            "RoleArn": "arn:aws:iam::123456789012:role/Trainer",
            "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"},
            "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        },
        rules=[Rule.sagemaker(rule_configs.overfit())],
        self_managed=SelfManaged(place="processing", rule_image_uri="my/rules:1"),
    )
    machine = Machine()
    machine.create = lambda: machine.jobs.created(
        types.SimpleNamespace(status_code=200), {**CONTEXT, _watcher_jobs._REQUEST: request}
    )
    return machine


def test_next_watcher_when_its_request_is_throttled_then_is_started_a_minute_later(machine, caplog):
    """With the same number; no request is sent before."""
    machine.create()
    machine.errors = ["ThrottlingException"]
    machine.describe_after(90_000)
    assert "ThrottlingException" in caplog.text
    machine.describe_after(30)
    assert machine.started == [""]
    machine.describe_after(30)
    machine.describe_after(60)  # the phase is still that of the first one
    assert machine.started == ["", "-2"]


def test_next_watcher_when_another_process_has_started_it_then_only_the_one_after_is_started(machine, caplog):
    """Its name is taken, which is no problem."""
    machine.create()
    machine.errors = ["ResourceInUse"]
    machine.describe_after(90_000)
    machine.describe_after(60)
    assert machine.started == [""]
    machine.describe_after(90_000)
    assert machine.started == ["", "-3"]
    assert "nothing evaluates" not in caplog.text


def test_first_watcher_when_it_was_started_by_hand_then_is_followed(machine, caplog):
    """As the warning asks for, after the request of this process was refused."""
    machine.errors = ["ThrottlingException"]
    machine.create()
    assert "repeat it with" in caplog.text
    machine.describe_after(60)
    assert machine.started == ["-2"]
