"""Trainers whose jobs run hook and rules without the service."""

from __future__ import annotations

import hashlib
import json

import pytest
from sagemaker.core.shapes import Tag
from sagemaker.train.configs import CheckpointConfig, InputData, Networking

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.config.job_spec import decode_job_spec

RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]


def test_train_when_self_managed_then_only_the_environment_is_added(make, requests):
    """The user's variables stay, also those of the next job."""
    trainer = make(environment={"EPOCHS": "3"}, rules=RULES).with_self_managed(
        SelfManaged(stop="cooperative", tag=True)
    )
    trainer.train(wait=False)
    trainer.train(wait=False)
    first, second = requests
    assert first["Environment"] == second["Environment"]
    assert first["Environment"]["EPOCHS"] == "3"
    assert decode_job_spec(first["Environment"]).actions.stop == "cooperative"
    assert first["Tags"] == [{"Key": "sagemaker-debug-ext", "Value": "stop-allowed"}]
    assert not {name for name in first if "Debug" in name or "Profiler" in name}
    assert trainer.latest_job_debugger_artifacts_path().endswith("/debug-output")


@pytest.mark.parametrize("boto3", [False, True])
def test_arguments_when_self_managed_then_hold_the_environment_in_both_spellings(make, boto3):
    """For sessions of the SDK, and for pipelines and plain boto3."""
    arguments = make(rules=RULES, self_managed=True)._create_training_job_args(boto3=boto3)
    environment = arguments["Environment" if boto3 else "environment"]
    assert decode_job_spec(environment).rules[0]["RuleConfigurationName"] == "VanishingGradient"


@pytest.mark.parametrize("boto3", [False, True])
def test_arguments_when_the_job_may_be_stopped_by_its_tag_then_hold_it_beside_those_of_the_user(make, boto3):
    """In both spellings."""
    trainer = make(self_managed=SelfManaged(tag=True), tags=[Tag(key="team", value="vision")])
    tags = trainer._create_training_job_args(boto3=boto3)["Tags" if boto3 else "tags"]
    found = {tag["Key" if boto3 else "key"]: tag["Value" if boto3 else "value"] for tag in tags}
    assert found["team"] == "vision"
    assert found["sagemaker-debug-ext"] == "stop-allowed"


@pytest.mark.parametrize("boto3", [False, True])
def test_settings_when_they_are_too_large_then_a_channel_carries_them(aws, make, boto3):
    """The user's channels stay."""
    digests = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(200)]
    collections = [
        CollectionConfig(f"group_{number}", {"include_regex": digest}) for number, digest in enumerate(digests)
    ]
    trainer = make(debugger_hook_config=DebuggerHookConfig(collection_configs=collections), self_managed=True)
    own = [InputData(channel_name="train", data_source="s3://my-bucket/train")]
    arguments = trainer._create_training_job_args(input_data_config=own, boto3=boto3)
    channels = arguments["InputDataConfig" if boto3 else "input_data_config"]
    if boto3:
        found = {one["ChannelName"]: one["DataSource"]["S3DataSource"]["S3Uri"] for one in channels}
    else:
        found = {one.channel_name: one.data_source.s3_data_source.s3_uri for one in channels}
    assert {"train", "sagemaker_debug_ext"} <= found.keys()
    bucket, _, key = found["sagemaker_debug_ext"].removeprefix("s3://").partition("/")
    content = aws.session().client("s3").get_object(Bucket=bucket, Key=f"{key}job.json")["Body"].read()
    assert len(json.loads(content)["hook"]["CollectionConfigurations"]) == len(collections)


@pytest.mark.parametrize("boto3", [False, True])
def test_arguments_when_the_job_is_isolated_then_its_checkpoints_carry_the_trial(make, boto3):
    """Unless the user gives checkpoints of their own."""
    isolated = {"networking": Networking(enable_network_isolation=True), "rules": RULES, "self_managed": True}
    for own in (None, CheckpointConfig(s3_uri="s3://my-bucket/mine", local_path="/opt/ml/mine")):
        arguments = make(**isolated, checkpoint_config=own)._create_training_job_args(boto3=boto3)
        spec = decode_job_spec(arguments["Environment" if boto3 else "environment"])
        found = arguments["CheckpointConfig" if boto3 else "checkpoint_config"]
        location, folder = (found["S3Uri"], found["LocalPath"]) if boto3 else (found.s3_uri, found.local_path)
        assert spec.ship == "checkpoint"
        assert spec.root == f"{folder}/sagemaker_debug_ext"
        if own is not None:
            assert (location, folder) == ("s3://my-bucket/mine", "/opt/ml/mine")
