"""An unmodified script of SDK v2 on the server of this machine."""

from __future__ import annotations

import pytest

from support.laptop import submit_to_laptop

SUBMIT = """
from sagemaker.pytorch import PyTorch

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.sdk import TrainingJob, with_debugger

estimator = with_debugger(PyTorch)(
    entry_point="train.py",
    source_dir="source",
    role="arn:aws:iam::123456789012:role/Trainer",
    framework_version="1.12.0",
    py_version="py38",
    instance_count=1,
    instance_type="ml.m5.large",
    rules=[Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())],
    debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
    self_managed=SelfManaged(poll_seconds=1),
)
estimator.fit(logs="All")
job = TrainingJob.describe(estimator.latest_training_job.name)
print(job.status, *((rule.name, rule.status) for rule in job.rules))
"""


def test_fit_when_a_rule_stops_the_job_then_script_and_command_say_so(tmp_path):
    """The SDK uploads the source, follows the logs and describes the job."""
    for package in ("moto", "flask", "xgboost"):
        pytest.importorskip(package)
    report = submit_to_laptop(tmp_path, SUBMIT)
    assert report.returncode == 0, report.stderr
    assert "Stopped ('TreeDepth', 'IssuesFound')" in report.stdout
    assert "SAGEMAKER_DEBUG_EXT rule=TreeDepth status=IssuesFound" in report.stdout
    assert "asked to stop" not in report.stderr
