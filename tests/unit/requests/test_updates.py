"""Requests that change a running job's profiler."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import DetailedProfilingConfig, FrameworkProfile, ProfilerRule, Rule
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugValueError
from sagemaker_debug_ext.requests.updates import profiler_off_request, profiler_on_request, profiler_update_request

JOB = {"job_name": "job-1", "region": "eu-west-1"}
REPORT = ProfilerRule.sagemaker(rule_configs.ProfilerReport())


def test_an_update_holds_what_changes_and_switches_on():
    """Nothing else: what is left out stays as it is."""
    assert profiler_update_request(**JOB, system_monitor_interval_millis=100) == {
        "TrainingJobName": "job-1",
        "ProfilerConfig": {"DisableProfiler": False, "ProfilingIntervalInMilliseconds": 100},
    }
    request = profiler_update_request(**JOB, rules=[REPORT], s3_output_path="s3://b")
    assert request["ProfilerConfig"] == {"DisableProfiler": False, "S3OutputPath": "s3://b"}
    assert ".eu-west-1." in request["ProfilerRuleConfigurations"][0]["RuleEvaluatorImage"]


def test_an_update_of_framework_metrics_turns_them_on_or_off():
    """On with a word: only old containers have them."""
    with pytest.warns(DebugExtWarning, match="framework metrics"):
        on = profiler_update_request(
            **JOB, framework_profile_params=FrameworkProfile(detailed_profiling_config=DetailedProfilingConfig())
        )
    assert "DetailedProfilingConfig" in on["ProfilerConfig"]["ProfilingParameters"]
    off = profiler_update_request(**JOB, disable_framework_metrics=True)
    assert off["ProfilerConfig"] == {"DisableProfiler": False, "ProfilingParameters": {}}


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({}, SMDebugValueError, "must change something"),
        (
            {"disable_framework_metrics": True, "framework_profile_params": FrameworkProfile()},
            SMDebugValueError,
            "disable_framework_metrics",
        ),
        ({"rules": [Rule.sagemaker(rule_configs.overfit())]}, SMDebugValueError, "Overfit"),
        ({"rules": [REPORT, REPORT]}, RequestValidationError, r"ProfilerRuleConfigurations\[1\].*unique"),
        ({"system_monitor_interval_millis": 123}, SMDebugValueError, "must be one of 100"),
    ],
    ids=["nothing", "metrics on and off", "a rule on tensors", "one rule twice", "an unknown interval"],
)
def test_an_update_that_cannot_be_is_refused(changes, error, match):
    """An update that the service would refuse is refused before it is sent."""
    with pytest.raises(error, match=match):
        profiler_update_request(**JOB, **changes)


def test_on_and_off_are_requests_of_their_own():
    """Off has nothing else; on has a place."""
    assert profiler_off_request("j") == {"TrainingJobName": "j", "ProfilerConfig": {"DisableProfiler": True}}
    assert profiler_on_request("j", "s3://b")["ProfilerConfig"] == {"DisableProfiler": False, "S3OutputPath": "s3://b"}
