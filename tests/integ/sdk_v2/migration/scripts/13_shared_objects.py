"""One configuration for two estimators, and a second fit."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, ProfilerRule, Rule, rule_configs
from sagemaker.pytorch import PyTorch
from sagemaker.sklearn import SKLearn

hook_config = DebuggerHookConfig(s3_output_path="s3://my-bucket/dbg", collection_configs=[CollectionConfig("losses")])
rules = [
    Rule.sagemaker(rule_configs.overtraining(), rule_parameters={"patience_train": "3"}),
    ProfilerRule.sagemaker(rule_configs.BatchSize(window=100)),
]
first = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    debugger_hook_config=hook_config,
    rules=rules,
    sagemaker_session=session,
)
second = SKLearn(
    entry_point="train.py",
    role=role,
    instance_type="ml.m5.xlarge",
    framework_version="1.0-1",
    debugger_hook_config=hook_config,
    rules=rules,
    sagemaker_session=session,
)
first.fit(wait=False, job_name="shared-1")
second.fit(wait=False, job_name="shared-2")
first.fit(wait=False, job_name="shared-3")
