"""Built-in rules, with every argument."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, Rule, rule_configs
from sagemaker.tensorflow import TensorFlow

rules = [
    Rule.sagemaker(rule_configs.vanishing_gradient()),
    Rule.sagemaker(
        base_config=rule_configs.loss_not_decreasing(),
        name="LossStalled",
        container_local_output_path="/opt/ml/processing/loss",
        s3_output_path="s3://my-bucket/rules",
        rule_parameters={"num_steps": "20", "diff_percent": "0.5", "mode": "TRAIN"},
        collections_to_save=[CollectionConfig(name="losses", parameters={"save_interval": "10"})],
    ),
    Rule.sagemaker(
        base_config=rule_configs.similar_across_runs(),
        other_trials_s3_input_paths=["s3://my-bucket/trial-1/debug-output", "s3://my-bucket/trial-2/debug-output"],
        rule_parameters={"tensor_regex": ".*loss.*"},
    ),
]
estimator = TensorFlow(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.2xlarge",
    instance_count=1,
    framework_version="2.11",
    py_version="py39",
    rules=rules,
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="builtin-rules")
