"""Jobs that reach no network, or ship at their end: the platform copies a folder of theirs to S3."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys

import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    SelfManaged,
    StopTraining,
    create_trial,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.laptop import LaptopServer
from sagemaker_debug_ext.requests.processing import watcher_job_request
from sagemaker_debug_ext.sdk import TrainingJob
from sagemaker_debug_ext.store.folder_sync import FolderSync
from support.laptop import TRAIN

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

NOWHERE = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}  # where nobody listens
HOOK = DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})])
RULES = [
    Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining()),
    Rule.sagemaker(rule_configs.tree_depth(), name="Deep", rule_parameters={"depth": "100"}),
]
VERDICTS = {"TreeDepth": "IssuesFound", "Deep": "NoIssuesFound"}


def members_of(name, is_isolated=True, **settings):
    """Return what the request of a job has besides the usual."""
    request = {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}}
    if is_isolated:
        request["EnableNetworkIsolation"] = True
    options = SelfManaged(poll_seconds=0.5, **settings)
    made = self_managed_request(request, rules=RULES, debugger_hook_config=HOOK, self_managed=options)
    made["Environment"] |= NOWHERE
    return {member: value for member, value in made.items() if member not in request or member.startswith("Enable")}


@pytest.fixture
def own_clients(server, monkeypatch):
    """Clients of this process talk to the server."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


def verdicts_of(text):
    return {line.split()[0]: line.split()[2] for line in text.splitlines() if "debugger " in line}


def call(*words):
    """Run a command of this package; return its exit status and its verdicts."""
    command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "self-managed", *words]
    shown = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    return shown.returncode, verdicts_of(shown.stdout) or shown.stderr


@pytest.mark.usefixtures("own_clients")
def test_job_when_it_reaches_no_network_then_rules_stop_it_and_its_copy_tells(submit, wait_for, sagemaker):
    """With no setting but the isolation; status and evaluation afterwards read the copy on S3."""
    submit("isolated", TRAIN, **members_of("isolated"))
    assert wait_for("isolated", "Completed", "Stopped", "Failed")["TrainingJobStatus"] == "Completed"
    job = TrainingJob.describe("isolated", sagemaker)
    assert {rule.name: rule.status for rule in job.rules} == VERDICTS
    copy = "s3://my-bucket/output/_checkpointed/isolated/sagemaker_debug_ext/isolated"
    assert job.artifact_paths.debugger == f"{copy}/debug-output"
    assert job.trial().loaded_all_steps
    for words in (["status", "isolated"], ["resume", "isolated"], ["status", copy], ["resume", copy]):
        assert call(*words) == (1, VERDICTS)  # a rule has found an issue


@pytest.mark.usefixtures("own_clients")
def test_job_when_it_ships_at_its_end_then_it_is_evaluated_afterwards(submit, wait_for, sagemaker, bucket):
    """The archive of its output is unpacked to where other jobs write."""
    script = TRAIN.replace("100_000", "22")
    members = members_of("packed", is_isolated=False, ship="end", place="here", events=False, stop="off")
    submit("packed", script, **members)
    assert wait_for("packed", "Completed", "Failed")["TrainingJobStatus"] == "Completed"
    keys = bucket.list_objects_v2(Bucket="my-bucket", Prefix="output/packed/")["Contents"]
    assert [item["Key"] for item in keys] == ["output/packed/output/output.tar.gz"]
    running = {**sagemaker.describe_training_job(TrainingJobName="packed"), "TrainingJobStatus": "InProgress"}
    with pytest.raises(SMDebugValueError, match="must have ended, because it ships its tensors then"):
        TrainingJob(running).watch()
    for _ in range(2):
        assert call("resume", "packed") == (1, VERDICTS)
    job = TrainingJob.describe("packed", sagemaker)
    assert {rule.name: rule.status for rule in job.rules} == VERDICTS
    assert job.artifact_paths.debugger == "s3://my-bucket/output/packed/debug-output"
    assert job.trial().steps() == [0, 5, 10, 15, 20]
    empty = members_of("empty", is_isolated=False, ship="end", place="here")
    submit("empty", "import os; open(os.environ['SM_OUTPUT_DATA_DIR'] + '/x', 'w').close()", **empty)
    wait_for("empty", "Completed")
    status, error = call("resume", "empty")
    assert status == 2
    assert "output.tar.gz holds no folder sagemaker_debug_ext/empty" in error


def test_copy_when_it_is_made_in_any_order_then_a_processing_job_gives_the_same_verdicts(
    tmp_path, monkeypatch, request_of
):
    """Of a job that reaches nothing, while the platform copies its files mixed."""
    copy_in_order = FolderSync._copy

    def copy_mixed(self, found, from_memory):
        return copy_in_order(self, random.Random(len(found)).sample(found, len(found)), from_memory)

    monkeypatch.setattr(FolderSync, "_copy", copy_mixed)
    with LaptopServer(tmp_path) as server:
        for name, value in server.client_variables().items():
            monkeypatch.setenv(name, value)
        s3, sagemaker = server.client("s3"), server.client("sagemaker")
        s3.create_bucket(Bucket="my-bucket")
        script = TRAIN.replace("100_000", "150")
        s3.put_object(Bucket="my-bucket", Key="code/mixed/train.py", Body=script.encode())
        options = {"place": "processing", "rule_image_uri": "rules:1", "stop": "off", "events": False}
        members = members_of("mixed", drain_seconds=5, **options)
        sagemaker.create_training_job(**request_of("mixed", **members))
        role = "arn:aws:iam::123456789012:role/Watcher"
        watcher = watcher_job_request(training_job_name="mixed", image_uri="rules:1", role_arn=role)
        sagemaker.create_processing_job(**watcher)
        server.wait()
        job = TrainingJob.describe("mixed", sagemaker)
        assert job.status == "Completed"
        assert {rule.name: rule.status for rule in job.rules} == VERDICTS
        trial = create_trial(job.artifact_paths.debugger)
        assert trial.loaded_all_steps
        assert trial.steps() == list(range(0, 150, 5))
        state = "output/_checkpointed/mixed/sagemaker_debug_ext/mixed/self-managed/status.json"
        status = json.loads(s3.get_object(Bucket="my-bucket", Key=state)["Body"].read())
        assert status["watcher"]["place"] == "processing"
        assert [rule["first_issue_step"] for rule in status["rules"]] == [0, None]
        first, second = [rule["num_steps"] for rule in status["rules"]]
        assert first == 1
        assert 1 < second <= 30  # on a busy machine some steps are copied too late to be evaluated
