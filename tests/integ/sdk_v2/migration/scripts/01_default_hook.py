"""A hook by default, and where its tensors are."""
# ruff: noqa: F821

from sagemaker.debugger import DebuggerHookConfig
from sagemaker.pytorch import PyTorch

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    debugger_hook_config=DebuggerHookConfig(),
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="default-hook")
print(estimator.latest_job_debugger_artifacts_path())
