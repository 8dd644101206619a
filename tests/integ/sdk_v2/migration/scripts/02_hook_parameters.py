"""Every argument of the hook."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, DebuggerHookConfig
from sagemaker.pytorch import PyTorch

hook_config = DebuggerHookConfig(
    s3_output_path="s3://my-bucket/debugger",
    container_local_output_path="/opt/tensors",
    hook_parameters={"save_interval": "100", "train.save_interval": "50", "eval.save_interval": "10"},
    collection_configs=[
        CollectionConfig(name="weights"),
        CollectionConfig(name="gradients", parameters={"save_interval": "20", "end_step": "500"}),
        CollectionConfig(name="relu", parameters={"include_regex": ".*relu_output", "reductions": "min,max"}),
        CollectionConfig(name="losses", parameters={"train.save_interval": "5", "save_histogram": "False"}),
    ],
)
estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    debugger_hook_config=hook_config,
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="hook-parameters")
