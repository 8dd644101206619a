"""SageMaker Profiler, and names that are not from the top."""
# ruff: noqa: F821

import sagemaker.debugger as debugger
from sagemaker.estimator import Estimator

report = debugger.get_default_profiler_processing_job("ml.m5.2xlarge", 64)
assert report.name.startswith("DetailedProfilerProcessingJobConfig")
assert debugger.get_rule_container_image_uri(None, "us-east-1").startswith("503895931360.")
estimator = Estimator(
    image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role=role,
    instance_type="ml.p4d.24xlarge",
    instance_count=1,
    profiler_config=debugger.ProfilerConfig(
        profile_params=debugger.Profiler(cpu_profiling_duration=600, file_rotation_interval=60)
    ),
    rules=[debugger.Rule.sagemaker(debugger.rule_configs.overfit())],
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="sagemaker-profiler")
