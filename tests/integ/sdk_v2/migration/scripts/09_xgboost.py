"""XGBoost, with its report."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, Rule, rule_configs
from sagemaker.estimator import Estimator

estimator = Estimator(
    image_uri="683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.3-1",
    role=role,
    instance_type="ml.m5.xlarge",
    instance_count=1,
    output_path="s3://my-bucket/out",
    debugger_hook_config=DebuggerHookConfig(
        s3_output_path="s3://my-bucket/dbg",
        collection_configs=[
            CollectionConfig(name="metrics", parameters={"save_interval": "5"}),
            CollectionConfig(name="average_shap", parameters={"save_interval": "5"}),
        ],
    ),
    rules=[
        Rule.sagemaker(rule_configs.create_xgboost_report(), name="Report"),
        Rule.sagemaker(
            rule_configs.loss_not_decreasing(),
            rule_parameters={"collection_names": "metrics", "num_steps": "10"},
        ),
    ],
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="xgboost")
