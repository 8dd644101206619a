"""A rule of one's own, with every argument."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, Rule
from sagemaker.pytorch import PyTorch

custom_rule = Rule.custom(
    name="MyCustomRule",
    image_uri="864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest",
    instance_type="ml.t3.medium",
    volume_size_in_gb=400,
    source="my_rule.py",
    rule_to_invoke="CustomGradientRule",
    container_local_output_path="/opt/ml/processing/mine",
    s3_output_path="s3://my-bucket/mine",
    other_trials_s3_input_paths=["s3://my-bucket/other/debug-output"],
    rule_parameters={"threshold": "20.0"},
    collections_to_save=[CollectionConfig(name="gradients", parameters={"save_interval": "50"})],
)
estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="1.13.1",
    py_version="py39",
    rules=[custom_rule],
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="custom-rule")
