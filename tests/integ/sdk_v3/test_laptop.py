"""An unmodified script of SDK v3 on the server of this machine."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.laptop.containers import has_namespaces
from support.laptop import submit_to_laptop

SUBMIT = """
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.sdk import TrainingJob, with_debugger

trainer = with_debugger(ModelTrainer)(
    training_image="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role="arn:aws:iam::123456789012:role/Trainer",
    base_job_name="trees",
    compute=Compute(instance_type="ml.m5.large", instance_count=1),
    source_code=SourceCode(source_dir="source", entry_script="train.py"),
    rules=[Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())],
    debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
).with_self_managed(SelfManaged(poll_seconds=1))
trainer.train()
rules = trainer.latest_job_rules()
print(*((rule.name, rule.status) for rule in rules))
"""


@pytest.mark.skipif(not has_namespaces(), reason="the scripts that the SDK adds to jobs name /opt/ml")
def test_train_when_a_rule_stops_the_job_then_script_and_command_say_so(tmp_path):
    """The start scripts of the SDK run as in a container."""
    pytest.importorskip("xgboost")
    report = submit_to_laptop(tmp_path, SUBMIT)
    assert report.returncode == 0, report.stderr
    assert "('TreeDepth', 'IssuesFound')" in report.stdout
    assert "Stopped" in report.stdout.splitlines()[-2]
