"""Jobs that reach no network: the platform copies their folder of checkpoints to S3 while they run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

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
from sagemaker_debug_ext.laptop.containers import has_namespaces
from support.laptop import TRAIN

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost"),
    pytest.mark.skipif(not has_namespaces(), reason="this machine permits no user namespaces"),
]

CHECKPOINTS = {"S3Uri": "s3://my-bucket/checkpoints/isolated", "LocalPath": "/opt/ml/checkpoints"}


def test_job_when_it_reaches_no_network_then_rules_stop_it_and_its_folder_of_checkpoints_tells(
    server, bucket, submit, wait_for
):
    """The watcher asks the script; status and evaluation afterwards read the copy on S3."""
    rules = [
        Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining()),
        Rule.sagemaker(rule_configs.tree_depth(), name="Deep", rule_parameters={"depth": "100"}),
    ]
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=rules,
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(
            folder="/opt/ml/checkpoints/debugger", stop="cooperative", events=False, poll_seconds=0.5
        ),
    )
    nowhere = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}  # where nobody listens
    environment = {**request["Environment"], **nowhere}
    submit("isolated", TRAIN, Environment=environment, CheckpointConfig=CHECKPOINTS, EnableNetworkIsolation=True)
    assert wait_for("isolated", "Completed", "Stopped", "Failed")["TrainingJobStatus"] == "Completed"
    folder = "s3://my-bucket/checkpoints/isolated/debugger/isolated"
    own = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    for command in ("status", "resume"):
        shown = subprocess.run(
            [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "self-managed", command, folder],
            env={**os.environ, **own, "AWS_ENDPOINT_URL": server.url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert shown.returncode == 1, shown.stderr  # a rule has found an issue
        verdicts = {line.split()[0]: line.split()[2] for line in shown.stdout.splitlines() if "debugger " in line}
        assert verdicts == {"TreeDepth": "IssuesFound", "Deep": "NoIssuesFound"}, shown.stdout
