"""Code around the SDK that calls its inner steps, or wraps its session, meets the same values after the rename.

Each test runs with the SDK's own configurations and with those of this package, in the SDK's own estimators.
"""

from __future__ import annotations

import importlib
import warnings

import pytest
import sagemaker
from sagemaker.estimator import Estimator
from sagemaker.fw_utils import PROFILER_UNSUPPORTED_REGIONS

from support.aws import ROLE

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.13.1-cpu-py39"
PACKAGES = ["sagemaker.debugger", "sagemaker_debug_ext"]


@pytest.fixture(params=PACKAGES)
def api(request):
    """Return the module with the configurations."""
    return importlib.import_module(request.param)


@pytest.fixture
def make(session):
    """Make an estimator: ``make(**arguments)``."""

    def make(sagemaker_session=session, **arguments):
        return Estimator(
            IMAGE, ROLE, 1, "ml.m5.xlarge", sagemaker_session=sagemaker_session, output_path="s3://out", **arguments
        )

    return make


def is_set(value):
    return value is not None and value not in ({}, [])


CONFIGURATIONS = {
    "collection": lambda api: api.CollectionConfig("losses", {"save_interval": "5"}),
    "collection without parameters": lambda api: api.CollectionConfig("weights"),
    "hook": lambda api: api.DebuggerHookConfig(
        "s3://b", "/local", {"save_interval": "9"}, [api.CollectionConfig("losses"), api.CollectionConfig("weights")]
    ),
    "TensorBoard": lambda api: api.TensorBoardOutputConfig("s3://b", "/logs"),
    "profiler": lambda api: api.ProfilerConfig("s3://b", 500),
    "profiler that is off": lambda api: api.ProfilerConfig("s3://b", disable_profiler=True),
    "recordings": lambda api: api.ProfilerConfig(profile_params=api.Profiler(60, 30)),
    "framework metrics": lambda api: api.ProfilerConfig(framework_profile_params=api.FrameworkProfile(start_step=3)),
}


@pytest.mark.filterwarnings("ignore")  # framework metrics are deprecated
@pytest.mark.parametrize("make_config", CONFIGURATIONS.values(), ids=list(CONFIGURATIONS))
def test_configuration_when_asked_for_its_member_then_both_packages_answer_alike(make_config):
    """Step Functions and other builders of requests call the method; unset parts may be left out."""
    expected, given = (make_config(importlib.import_module(package))._to_request_dict() for package in PACKAGES)
    assert {name: value for name, value in expected.items() if is_set(value)} == given


def test_rule_when_asked_for_its_member_then_holds_the_placeholder_of_the_evaluator(api):
    """Only the job knows the region."""
    rule = api.Rule.custom("Mine", "my-image", "ml.t3.medium", 5, rule_parameters={"threshold": "1"})
    assert rule.to_debugger_rule_config_dict() == {
        "RuleConfigurationName": "Mine",
        "RuleEvaluatorImage": "my-image",
        "InstanceType": "ml.t3.medium",
        "VolumeSizeInGB": 5,
        "RuleParameters": {"threshold": "1"},
    }
    built_in = api.ProfilerRule.sagemaker(api.rule_configs.ProfilerReport(), s3_output_path="s3://b")
    assert built_in.to_profiler_rule_config_dict() == {
        "RuleConfigurationName": "ProfilerReport",
        "RuleEvaluatorImage": "DEFAULT_RULE_EVALUATOR_IMAGE",
        "S3OutputPath": "s3://b",
        "RuleParameters": {"rule_to_invoke": "ProfilerReport"},
    }


def test_rules_when_a_job_is_prepared_then_are_ready_to_be_sent(api, make):
    """Step Functions prepares an estimator, and then reads its rules and its hook."""
    rules = [
        api.Rule.sagemaker(api.rule_configs.overfit(), actions=api.rule_configs.StopTraining()),
        api.ProfilerRule.sagemaker(api.rule_configs.ProfilerReport()),
    ]
    estimator = make(rules=rules)
    estimator._prepare_for_training("my-job")
    debugger_rule, profiler_rule = estimator.rules
    member = debugger_rule.to_debugger_rule_config_dict()
    assert estimator.debugger_rule_configs == [member]
    assert member["RuleEvaluatorImage"].endswith(".us-east-1.amazonaws.com/sagemaker-debugger-rules:latest")
    assert "my-job" in member["RuleParameters"]["action_json"]
    assert estimator.profiler_rule_configs == [profiler_rule.to_profiler_rule_config_dict()]
    assert estimator.debugger_hook_config._to_request_dict()["S3OutputPath"] == "s3://out"


def test_request_when_settings_have_the_services_default_then_holds_them(api, make, session, monkeypatch):
    """A wrapper of the session may read them without asking whether they are there."""
    sent = {}
    monkeypatch.setattr(session, "train", lambda **arguments: sent.update(arguments))
    make(rules=[api.Rule.sagemaker(api.rule_configs.stalled_training_rule())]).fit(wait=False)
    assert sent["debugger_hook_config"]["CollectionConfigurations"] == []
    assert sent["profiler_config"] == {"S3OutputPath": "s3://out", "DisableProfiler": False}


def test_update_when_the_session_is_a_subclass_then_goes_through_it(api, make, make_session, recording):
    """As the SDK's own update does."""

    class Session(sagemaker.Session):
        def update_training_job(self, job_name, **arguments):
            updates.append((job_name, arguments))

    updates = []
    estimator = make(make_session(Session, boto_session=recording[0]))
    estimator.fit(wait=False, job_name="running")
    estimator.update_profiler(
        rules=[api.ProfilerRule.custom("Mine", "my-image", "ml.t3.medium", 5)], system_monitor_interval_millis=1000
    )
    ((job_name, arguments),) = updates
    assert job_name == "running"
    assert arguments["profiler_config"] == {"DisableProfiler": False, "ProfilingIntervalInMilliseconds": 1000}
    assert arguments["profiler_rule_configs"] == [
        {
            "RuleConfigurationName": "Mine",
            "RuleEvaluatorImage": "my-image",
            "InstanceType": "ml.t3.medium",
            "VolumeSizeInGB": 5,
        }
    ]


def test_profiler_when_prepared_by_itself_then_brings_the_rule_that_processes_recordings(api, make):
    """Its instance is that of the configuration."""
    config = api.ProfilerConfig(profile_params=api.Profiler())
    estimator = make(profiler_config=config)
    estimator.output_path = None  # the job is not prepared yet
    estimator._prepare_profiler_for_training()
    (rule,) = estimator.profiler_rules
    assert rule.name.startswith("DetailedProfilerProcessingJobConfig")
    assert rule.image_uri.endswith("/detailed-profiler-processing:latest")
    instance = (config.profile_params.instanceType, config.profile_params.volumeSizeInGB)
    assert (rule.instance_type, rule.volume_size_in_gb) == instance


@pytest.mark.filterwarnings("ignore")  # framework metrics are deprecated
def test_profiler_config_when_imported_from_the_sdk_itself_then_takes_settings_of_both(api):
    """A rename of ``sagemaker.debugger`` does not reach ``from sagemaker import ProfilerConfig``."""
    profile = api.FrameworkProfile(start_step=3, num_steps=2)
    config = sagemaker.ProfilerConfig(framework_profile_params=profile)
    assert config._to_request_dict()["ProfilingParameters"] == profile.profiling_parameters
    recorder = api.Profiler(cpu_profiling_duration=60)
    config = sagemaker.ProfilerConfig("s3://b", 500, None, recorder)
    assert config._to_request_dict()["ProfilingParameters"] == recorder.profiling_parameters
    with pytest.raises(AssertionError):
        sagemaker.ProfilerConfig(framework_profile_params={})


REFUSED = {
    "profiler on and off": (
        lambda api: {"profiler_config": api.ProfilerConfig(), "disable_profiler": True},
        "profiler_config.disable_profiler cannot be False when disable_profiler is True.",
    ),
    "profiler rule without the profiler": (
        lambda api: {
            "rules": [api.ProfilerRule.custom("Mine", "my-image", "ml.t3.medium", 5)],
            "disable_profiler": True,
        },
        "ProfilerRule cannot be set when disable_profiler is True.",
    ),
}


@pytest.mark.parametrize(("settings", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_job_when_refused_then_the_error_holds_the_sdks_sentence(api, make, settings, sentence):
    """Scripts look for it in the text."""
    with pytest.raises(RuntimeError) as error:
        make(**settings(api)).fit(wait=False)
    assert sentence in str(error.value)


def test_job_when_in_a_region_without_debugger_then_the_error_holds_the_sdks_sentence(api, make, make_session):
    """Only if a hook was asked for."""
    session = make_session(region=PROFILER_UNSUPPORTED_REGIONS[0])
    with pytest.raises(ValueError, match="Current region does not support debugger but debugger hook config is set!"):
        make(session, debugger_hook_config=api.DebuggerHookConfig("s3://b")).fit(wait=False)


UPDATES = {
    "a rule on tensors": (
        lambda api: {"rules": [api.Rule.sagemaker(api.rule_configs.overfit())]},
        "Please provide ProfilerRule to be updated.",
    ),
    "metrics on and off": (
        lambda api: {"framework_profile_params": api.FrameworkProfile(), "disable_framework_metrics": True},
        "framework_profile_params cannot be set when disable_framework_metrics is True",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), UPDATES.values(), ids=list(UPDATES))
def test_update_when_refused_then_the_error_holds_the_sdks_sentence(api, make, changes, sentence):
    """Nothing is sent."""
    estimator = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(wait=False, job_name="running")
        with pytest.raises(ValueError) as error:
            estimator.update_profiler(**changes(api))
    assert sentence in str(error.value)
