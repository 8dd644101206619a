"""Nothing of Debugger, and nothing of the profiler."""
# ruff: noqa: F821

from sagemaker.debugger import ProfilerConfig
from sagemaker.pytorch import PyTorch

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    debugger_hook_config=False,
    disable_profiler=True,
    profiler_config=ProfilerConfig(disable_profiler=True),
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="opt-out")
