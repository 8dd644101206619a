"""Estimators whose jobs run hook and rules without the service."""

from __future__ import annotations

import hashlib
import inspect
import json

import pytest
from sagemaker.estimator import Estimator
from sagemaker.session import Session
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
)
from sagemaker_debug_ext.config.job_spec import decode_job_spec
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE, recorded_requests

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311"
RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]


def make(session, adapt=with_debugger, **arguments):
    """Make a generic estimator."""
    basic = {"image_uri": IMAGE, "role": ROLE, "instance_count": 1, "instance_type": "ml.g5.xlarge"}
    return adapt(Estimator)(**{**basic, "sagemaker_session": session, **arguments})


def test_fit_when_self_managed_then_only_the_environment_differs(session, requests):
    """No Debugger member is sent, not even those that the SDK adds by itself."""
    environment = {"EPOCHS": "3"}
    make(session, lambda kind: kind, environment=environment, disable_profiler=True).fit(wait=False, job_name="plain-1")
    estimator = make(session, environment=environment, rules=RULES, self_managed=True)
    estimator.fit(wait=False, job_name="own-1")
    plain, own = requests
    assert set(own) <= set(plain)
    differing = {name for name in own if plain[name] != own[name]}
    assert differing == {"TrainingJobName", "Environment"}
    assert not {name for name in own if "Debug" in name or "Profiler" in name}
    assert own["Environment"]["EPOCHS"] == "3"
    assert decode_job_spec(own["Environment"]).rules[0]["RuleParameters"]["rule_to_invoke"] == "VanishingGradient"
    assert estimator.environment == environment
    assert estimator.latest_job_debugger_artifacts_path().endswith("/own-1/debug-output")


def test_fit_when_repeated_then_sends_the_same_settings_again(session, requests):
    """The variables of the first job are not taken for the user's."""
    estimator = make(session, rules=RULES, self_managed=True)
    for name in ("again-1", "again-2"):
        estimator.fit(wait=False, job_name=name)
    assert requests[0]["Environment"] == requests[1]["Environment"]


def test_tuner_when_self_managed_then_every_job_gets_the_settings(aws, make_session):
    """Tuning jobs never had Debugger."""
    boto_session = aws.session()
    with recorded_requests(boto_session, "CreateHyperParameterTuningJob") as tuning:
        estimator = make(make_session(boto_session=boto_session), rules=RULES, self_managed=True)
        ranges = {"lr": ContinuousParameter(0, 1)}
        metrics = [{"Name": "loss", "Regex": "loss=(.*)"}]
        tuner = HyperparameterTuner(estimator, "loss", ranges, metrics, max_jobs=1)
        if "environment" not in inspect.signature(Session._map_training_config).parameters:
            with pytest.raises(SMDebugValueError, match="passes no environment to tuning jobs"):
                tuner.fit(wait=False)
            return
        tuner.fit(wait=False)
    environment = tuning[0]["TrainingJobDefinition"]["Environment"]
    assert decode_job_spec(environment).rules[0]["RuleConfigurationName"] == "VanishingGradient"


def test_fit_when_profiler_is_asked_for_then_the_job_profiles_itself(session, requests):
    """Its settings travel with the others, and none as a member."""
    config = ProfilerConfig(system_monitor_interval_millis=200)
    estimator = make(
        session, profiler_config=config, rules=[ProfilerRule.sagemaker(rule_configs.StepOutlier())], self_managed=True
    )
    estimator.fit(wait=False, job_name="profiled-1")
    (request,) = requests
    assert not {name for name in request if "Profiler" in name}
    spec = decode_job_spec(request["Environment"])
    assert spec.profiler["ProfilingIntervalInMilliseconds"] == 200
    assert [rule["RuleConfigurationName"] for rule in spec.profiler_rules] == ["StepOutlier"]
    assert estimator.latest_job_profiler_artifacts_path().endswith("/profiled-1/profiler-output")


def test_settings_when_they_are_too_large_then_a_channel_carries_them(aws, session, requests):
    """The user's channels stay, and a later job of the estimator with smaller settings has no such channel."""
    digests = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(200)]
    collections = [
        CollectionConfig(f"group_{number}", {"include_regex": digest}) for number, digest in enumerate(digests)
    ]
    large = DebuggerHookConfig(collection_configs=collections)
    estimator = make(session, debugger_hook_config=large, rules=RULES, self_managed=True)
    estimator.fit({"train": "s3://my-bucket/train"}, wait=False, job_name="large-1")
    estimator.debugger_hook_config = None
    estimator.fit({"train": "s3://my-bucket/train"}, wait=False, job_name="small-1")
    channels, fewer = (
        {channel["ChannelName"]: channel["DataSource"]["S3DataSource"]["S3Uri"] for channel in one["InputDataConfig"]}
        for one in requests
    )
    assert channels.keys() == {"train", "sagemaker_debug_ext"}
    assert fewer.keys() == {"train"}
    bucket, _, key = channels["sagemaker_debug_ext"].removeprefix("s3://").partition("/")
    content = aws.session().client("s3").get_object(Bucket=bucket, Key=f"{key}job.json")["Body"].read()
    saved = {one["CollectionName"] for one in json.loads(content)["hook"]["CollectionConfigurations"]}
    assert saved == {"gradients", *(one.name for one in collections)}  # the rule reads the first
    assert len(requests[0]["Environment"]["SAGEMAKER_DEBUG_EXT_JOB_0"]) < 100


def test_fit_when_the_job_is_isolated_then_its_checkpoints_carry_the_trial(session, requests):
    """Each job has a location of its own, unless the user gives one; the estimator stays as it was."""
    estimator = make(session, rules=RULES, self_managed=True, enable_network_isolation=True)
    for name in ("isolated-1", "isolated-2"):
        estimator.fit(wait=False, job_name=name)
    copies = [request["CheckpointConfig"]["S3Uri"].rpartition("/_checkpointed/")[2] for request in requests]
    assert copies == ["isolated-1", "isolated-2"]
    path = estimator.latest_job_debugger_artifacts_path()
    assert path.endswith("/_checkpointed/isolated-2/sagemaker_debug_ext/isolated-2/debug-output")
    own = make(
        session,
        self_managed=True,
        enable_network_isolation=True,
        checkpoint_s3_uri="s3://my-bucket/mine",
        checkpoint_local_path="/opt/ml/mine",
    )
    own.fit(wait=False, job_name="isolated-3")
    assert requests[-1]["CheckpointConfig"] == {"S3Uri": "s3://my-bucket/mine", "LocalPath": "/opt/ml/mine"}
    assert decode_job_spec(requests[-1]["Environment"]).root == "/opt/ml/mine/sagemaker_debug_ext"


def test_fit_when_the_job_may_be_stopped_by_its_tag_then_is_sent_with_it(session, requests):
    """Beside the user's tags, which the estimator keeps; a tuner has tags of its own."""
    mine = {"Key": "team", "Value": "vision"}
    options = SelfManaged(tag=True)
    estimator = make(session, self_managed=options, tags=[mine], hyperparameters={"lr": 0.1})
    for name in ("tagged-1", "tagged-2"):
        estimator.fit(wait=False, job_name=name)
    allowed = {"Key": "sagemaker-debug-ext", "Value": "stop-allowed"}
    assert [request["Tags"] for request in requests] == [[mine, allowed]] * 2
    estimator.self_managed = True
    estimator.fit(wait=False, job_name="untagged-1")
    assert requests[-1]["Tags"] == [mine]
    estimator.self_managed = options
    tuner = HyperparameterTuner(
        estimator,
        "loss",
        {"lr": ContinuousParameter(0.01, 0.1)},
        metric_definitions=[{"Name": "loss", "Regex": "loss=(.*)"}],
    )
    old = "passes no environment to tuning jobs"  # which older releases are refused for
    with pytest.raises(SMDebugValueError, match=rf"give it the tag sagemaker-debug-ext=stop-allowed|{old}"):
        tuner.fit(wait=False)


def test_fit_when_the_user_sets_checkpoints_after_an_isolated_job_then_they_are_sent(session, requests):
    """What the earlier job needed is undone only where it still stands."""
    estimator = make(session, rules=RULES, self_managed=True, enable_network_isolation=True)
    estimator.fit(wait=False, job_name="isolated-1")
    estimator.checkpoint_s3_uri = "s3://my-bucket/mine"
    estimator.checkpoint_local_path = "/opt/ml/mine"
    for name in ("isolated-2", "isolated-3"):
        estimator.fit(wait=False, job_name=name)
    for request in requests[1:]:
        assert request["CheckpointConfig"] == {"S3Uri": "s3://my-bucket/mine", "LocalPath": "/opt/ml/mine"}


def test_fit_when_the_user_sets_a_model_after_a_job_with_large_settings_then_it_is_sent(session, requests):
    """The channel of the settings goes, and the user's channel comes."""
    digests = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(200)]
    large = DebuggerHookConfig(
        collection_configs=[CollectionConfig(f"group_{digest[:8]}", {"include_regex": digest}) for digest in digests]
    )
    estimator = make(session, debugger_hook_config=large, self_managed=True)
    estimator.fit(wait=False, job_name="large-1")
    estimator.debugger_hook_config = None
    estimator.model_uri, estimator.model_channel_name = "s3://my-bucket/model", "pretrained"
    estimator.fit(wait=False, job_name="small-1")
    first, second = ([channel["ChannelName"] for channel in one["InputDataConfig"]] for one in requests)
    assert (first, second) == (["sagemaker_debug_ext"], ["pretrained"])
