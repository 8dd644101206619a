"""Trainers whose jobs run hook and rules without the service."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext import Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.config.job_spec import decode_job_spec

RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]


def test_train_when_self_managed_then_only_the_environment_is_added(make, requests):
    """The user's variables stay, also those of the next job."""
    trainer = make(environment={"EPOCHS": "3"}, rules=RULES).with_self_managed(SelfManaged(stop="cooperative"))
    trainer.train(wait=False)
    trainer.train(wait=False)
    first, second = requests
    assert first["Environment"] == second["Environment"]
    assert first["Environment"]["EPOCHS"] == "3"
    assert decode_job_spec(first["Environment"]).actions.stop == "cooperative"
    assert not {name for name in first if "Debug" in name or "Profiler" in name}
    assert trainer.latest_job_debugger_artifacts_path().endswith("/debug-output")


@pytest.mark.parametrize("boto3", [False, True])
def test_arguments_when_self_managed_then_hold_the_environment_in_both_spellings(make, boto3):
    """For sessions of the SDK, and for pipelines and plain boto3."""
    arguments = make(rules=RULES, self_managed=True)._create_training_job_args(boto3=boto3)
    environment = arguments["Environment" if boto3 else "environment"]
    assert decode_job_spec(environment).rules[0]["RuleConfigurationName"] == "VanishingGradient"
