"""Jobs with Debugger members on a server that takes them, and jobs that name /opt/ml themselves."""

from __future__ import annotations

import importlib.util
import time

import pytest

from sagemaker_debug_ext import DebuggerHookConfig, Rule, create_trial, debugger_request, rule_configs
from sagemaker_debug_ext.laptop.containers import has_namespaces
from sagemaker_debug_ext.store.backends.s3 import S3Options

TRAIN = """
import torch
import sagemaker_debug_ext.pytorch as smd
hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
for _ in range(10):
    loss(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_debugger_when_it_is_switched_on_then_the_service_is_played(start_server, submit, wait_for):
    """The trial and the results of rules lie on S3, and the statuses in the description."""
    server = start_server("--debugger")
    s3, client = server.client("s3"), server.client("sagemaker")
    s3.create_bucket(Bucket="my-bucket")
    members = debugger_request(
        job_name="watched",
        region="us-east-1",
        output_path="s3://my-bucket/output",
        debugger_hook_config=DebuggerHookConfig(hook_parameters={"save_interval": 5}),
        rules=[Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"})],
    )
    submit("watched", TRAIN, client=client, s3=s3, **members)
    description = wait_for("watched", "Completed", "Failed", client=client)
    assert description["TrainingJobStatus"] == "Completed", description["FailureReason"]
    while (status := statuses(client, "watched"))["VanishingGradient"] == "InProgress":
        time.sleep(0.2)
    assert status == {"VanishingGradient": "IssuesFound"}
    trial = create_trial("s3://my-bucket/output/watched/debug-output", s3=S3Options(client=s3))
    assert trial.steps() == [0, 5]
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket="my-bucket", Prefix="output/watched")["Contents"]]
    assert "output/watched/rule-output/VanishingGradient/rule-result.json" in keys


def statuses(client, name):
    rules = client.describe_training_job(TrainingJobName=name)["DebugRuleEvaluationStatuses"]
    return {rule["RuleConfigurationName"]: rule["RuleEvaluationStatus"] for rule in rules}


@pytest.mark.skipif(not has_namespaces(), reason="this machine permits no user namespaces")
def test_script_when_it_names_opt_ml_then_sees_the_files_of_its_job(submit, wait_for, bucket):
    """Two jobs at once see each their own."""
    script = """
import pathlib
pathlib.Path("/opt/ml/model/name").write_text(pathlib.Path("/opt/ml/input/config/hyperparameters.json").read_text())
"""
    for name in ("mine", "yours"):
        submit(name, script)
    for name in ("mine", "yours"):
        assert wait_for(name, "Completed", "Failed")["TrainingJobStatus"] == "Completed"
        content = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/output/model.tar.gz")
        assert content["ContentLength"] > 0
