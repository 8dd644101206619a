"""A step of a pipeline, with parameters in it."""
# ruff: noqa: F821

from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, ProfilerConfig, Rule, rule_configs
from sagemaker.estimator import Estimator
from sagemaker.workflow.parameters import ParameterString
from sagemaker.workflow.pipeline import Pipeline
from sagemaker.workflow.steps import TrainingStep

interval = ParameterString(name="Interval", default_value="100")
estimator = Estimator(
    image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role=role,
    instance_type="ml.m5.xlarge",
    instance_count=1,
    debugger_hook_config=DebuggerHookConfig(
        s3_output_path="s3://my-bucket/dbg",
        collection_configs=[CollectionConfig(name="losses", parameters={"save_interval": interval})],
    ),
    profiler_config=ProfilerConfig(system_monitor_interval_millis=500),
    rules=[Rule.sagemaker(rule_configs.overfit(), rule_parameters={"patience": interval})],
    sagemaker_session=pipeline_session,
)
step = TrainingStep(name="train", step_args=estimator.fit())
definition = Pipeline(name="p", parameters=[interval], steps=[step], sagemaker_session=pipeline_session).definition()
