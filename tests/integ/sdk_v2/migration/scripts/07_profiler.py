"""System metrics and profiler rules, with every argument."""
# ruff: noqa: F821

from sagemaker.debugger import ProfilerConfig, ProfilerRule, rule_configs
from sagemaker.pytorch import PyTorch

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    profiler_config=ProfilerConfig(s3_output_path="s3://my-bucket/prof", system_monitor_interval_millis=1000),
    rules=[
        ProfilerRule.sagemaker(rule_configs.ProfilerReport(CPUBottleneck_threshold=60)),
        ProfilerRule.sagemaker(
            rule_configs.LowGPUUtilization(threshold_p95=60, window=100),
            name="LowGpu",
            container_local_output_path="/opt/ml/processing/gpu",
            s3_output_path="s3://my-bucket/gpu",
        ),
        ProfilerRule.custom(
            name="MyProfilerRule",
            image_uri="864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest",
            instance_type="ml.t3.medium",
            volume_size_in_gb=10,
            source="my_rule.py",
            rule_to_invoke="MyRule",
            rule_parameters={"a": "1"},
        ),
    ],
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="profiler")
print(estimator.latest_job_profiler_artifacts_path())
