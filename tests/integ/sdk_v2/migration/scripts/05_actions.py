"""What happens when a rule fires."""
# ruff: noqa: F821

from sagemaker.debugger import Rule, rule_configs
from sagemaker.estimator import Estimator

actions = rule_configs.ActionList(
    rule_configs.StopTraining(),
    rule_configs.Email("abc@abc.com"),
    rule_configs.SMS("+1234567890"),
)
estimator = Estimator(
    image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role=role,
    instance_type="ml.m5.xlarge",
    instance_count=1,
    rules=[
        Rule.sagemaker(rule_configs.overfit(), actions=actions),
        Rule.sagemaker(rule_configs.exploding_tensor(), actions=rule_configs.StopTraining("my-prefix")),
    ],
    sagemaker_session=session,
)
estimator.fit(wait=False, job_name="actions")
