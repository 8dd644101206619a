"""The rules of one script: as a job of the service on the local runner, and self-managed on the server."""

from __future__ import annotations

import importlib.util
import json

import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    SelfManaged,
    StopTraining,
    debugger_request,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.local import run_training_job

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")

TRAIN = """
import time
import torch
import sagemaker_debug_ext.pytorch as smd

torch.manual_seed(0)
hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
for step in range(60):
    model.zero_grad()
    images = torch.randn(8, 4) * (0.0 if 12 <= step < 30 else 1.0)  # no gradient of the weights
    if step == 40:
        images *= 1e30
    loss(model(images), torch.randint(0, 2, (8,))).backward()
    with torch.no_grad():  # an optimizer would import a compiler, which takes longer than the training
        for parameter in model.parameters():
            parameter -= 0.5 * parameter.grad
    time.sleep(0.01)
    if step == 59 and STOPS:
        time.sleep(300)
"""
RULES = {
    "VanishingGradient": (rule_configs.vanishing_gradient(), {"threshold": "1e-9"}),
    "ExplodingTensor": (rule_configs.exploding_tensor(), {"only_nan": "False"}),
    "LossNotDecreasing": (rule_configs.loss_not_decreasing(), {"num_steps": "10", "diff_percent": "50"}),
    "UnchangedTensor": (rule_configs.unchanged_tensor(), {"collection_names": "weights", "num_steps": "3"}),
    "Overfit": (rule_configs.overfit(), {}),
}


def settings_of(actions=None):
    """Return hook and rules; `actions` are those of the first rule."""
    rules = [
        Rule.sagemaker(config, rule_parameters=parameters, actions=actions if name == "VanishingGradient" else None)
        for name, (config, parameters) in RULES.items()
    ]
    collections = [CollectionConfig(name) for name in ("weights", "gradients", "losses")]
    hook = DebuggerHookConfig(hook_parameters={"save_interval": 3}, collection_configs=collections)
    return {"debugger_hook_config": hook, "rules": rules}


@pytest.fixture
def served(tmp_path, request_of):
    """Return a function that runs the script as the service runs it, and returns status and step of each rule."""

    def run(script, actions=None):
        work = tmp_path / "work"
        code = work / "s3/my-bucket/code/digits-1"
        code.mkdir(parents=True)
        (code / "train.py").write_text(script)
        members = debugger_request(
            job_name="digits-1", region="us-east-1", output_path="s3://my-bucket/output", **settings_of(actions)
        )
        job = run_training_job({**request_of("digits-1"), **members}, work)
        results = {path.parent.name: json.loads(path.read_text()) for path in work.rglob("rule-result.json")}
        return job.describe()["TrainingJobStatus"], {
            name: (result["status"], result["first_issue_step"]) for name, result in results.items()
        }

    return run


@pytest.fixture
def self_managed(submit, wait_for, bucket):
    """Return a function that does the same with a self-managed job on the server."""

    def run(name, script, actions=None):
        output = {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}}
        options = SelfManaged(poll_seconds=0.2, events=False)
        request = self_managed_request(output, **settings_of(actions), self_managed=options)
        submit(name, script, Environment=request["Environment"])
        status = wait_for(name, "Completed", "Failed", "Stopped")["TrainingJobStatus"]
        body = bucket.get_object(Bucket="my-bucket", Key=f"output/{name}/self-managed/status.json")["Body"].read()
        rules = json.loads(body)["rules"]
        return status, {
            rule["RuleConfigurationName"]: (rule["RuleEvaluationStatus"], rule["first_issue_step"]) for rule in rules
        }

    return run


def test_rules_when_a_job_is_self_managed_then_fire_at_the_steps_of_the_service(served, self_managed):
    """Each of them, also those that find nothing."""
    script = TRAIN.replace("STOPS", "False")
    found = served(script)
    assert found == self_managed("same", script)
    status, rules = found
    assert status == "Completed"
    assert rules["VanishingGradient"] == ("IssuesFound", 12)
    assert {verdict for verdict, _ in rules.values()} == {"IssuesFound", "NoIssuesFound"}
    assert len({step for _, step in rules.values()}) > 2


def test_rule_when_it_stops_its_job_then_both_ways_at_the_same_step(served, self_managed):
    """The job, which would wait for minutes, is ``Stopped``, and the rule has fired."""
    script = TRAIN.replace("STOPS", "True")
    found, own = served(script, StopTraining()), self_managed("stops", script, StopTraining())
    assert [status for status, _ in (found, own)] == ["Stopped", "Stopped"]
    assert found[1]["VanishingGradient"] == own[1]["VanishingGradient"] == ("IssuesFound", 12)
