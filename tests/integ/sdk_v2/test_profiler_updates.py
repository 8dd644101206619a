"""What can be changed of a running job's profiler. The server has no UpdateTrainingJob, so a stub stands for it."""

from __future__ import annotations

import pytest
import sagemaker.debugger as sdk
from botocore.stub import ANY, Stubber
from sagemaker.estimator import Estimator

from sagemaker_debug_ext import ProfilerConfig, ProfilerRule, Rule, rule_configs
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugValueError
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE

BUCKET = "s3://sagemaker-us-east-1-123456789012/"
ARN = {"TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/running"}
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.13.1-cpu-py39"
REPORT = {
    "RuleConfigurationName": "ProfilerReport",
    "RuleEvaluatorImage": "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest",
    "RuleParameters": {"rule_to_invoke": "ProfilerReport"},
}


@pytest.fixture
def running(session):
    """Make an estimator whose job is running, and a stub of what the service answers from now on."""
    stubs = []

    def running(**arguments):
        estimator = with_debugger(Estimator)(
            IMAGE, ROLE, instance_count=1, instance_type="ml.g5.xlarge", sagemaker_session=session, **arguments
        )
        estimator.fit(wait=False, job_name="running")
        stub = Stubber(session.sagemaker_client)
        stub.activate()
        stubs.append(stub)
        return estimator, stub

    yield running
    for stub in stubs:
        stub.assert_no_pending_responses()
        stub.deactivate()


def described(stub, status, **members):
    answer = {
        **ARN,
        "TrainingJobName": "running",
        "ModelArtifacts": {"S3ModelArtifacts": "s3://b"},
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training",
        "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "ResourceConfig": {"VolumeSizeInGB": 1},
        "StoppingCondition": {},
        "CreationTime": 0,
        "ProfilingStatus": status,
        **members,
    }
    stub.add_response("describe_training_job", answer, {"TrainingJobName": "running"})


def expect(stub, config, **members):
    stub.add_response("update_training_job", ARN, {"TrainingJobName": "running", "ProfilerConfig": config, **members})


@pytest.mark.parametrize("api", [sdk, None], ids=["sdk", "ours"])
def test_update_profiler_sends_what_changes_and_keeps_the_path(api, running):
    """The SDK forgets where the metrics go."""
    estimator, stub = running()
    rule = (
        sdk.ProfilerRule.sagemaker(sdk.rule_configs.ProfilerReport())
        if api
        else ProfilerRule.sagemaker(rule_configs.ProfilerReport())
    )
    expect(
        stub, {"DisableProfiler": False, "ProfilingIntervalInMilliseconds": 1000}, ProfilerRuleConfigurations=[REPORT]
    )
    estimator.update_profiler(rules=[rule], system_monitor_interval_millis=1000)
    assert estimator.latest_job_profiler_artifacts_path() == f"{BUCKET}running/profiler-output"
    assert estimator.rule_output_path("ProfilerReport") == f"{BUCKET}running/rule-output/ProfilerReport"


def test_update_profiler_of_framework_metrics(running):
    """On, off, and with a word: only old containers have them."""
    estimator, stub = running()
    expect(stub, {"DisableProfiler": False, "S3OutputPath": "s3://my-bucket/p", "ProfilingParameters": ANY})
    with pytest.warns(DebugExtWarning, match="framework metrics"):
        estimator.update_profiler(s3_output_path="s3://my-bucket/p", framework_profile_params=sdk.FrameworkProfile())
    assert estimator.latest_job_profiler_artifacts_path() == "s3://my-bucket/p/running/profiler-output"
    expect(stub, {"DisableProfiler": False, "ProfilingParameters": {}})
    estimator.update_profiler(disable_framework_metrics=True)
    assert estimator.latest_job_profiler_artifacts_path() == "s3://my-bucket/p/running/profiler-output"


def test_update_profiler_of_nothing_or_of_what_cannot_change_is_refused(running):
    """Rules on tensors stay as they are."""
    estimator, _ = running()
    with pytest.raises(SMDebugValueError, match=r"Please provide profiler config or profiler rule to be updated\."):
        estimator.update_profiler()
    with pytest.raises(SMDebugValueError, match=r"Please provide ProfilerRule to be updated\."):
        estimator.update_profiler(rules=[Rule.sagemaker(rule_configs.overfit())])
    with pytest.raises(SMDebugValueError, match="must be one of 100, 200"):
        estimator.update_profiler(system_monitor_interval_millis=7)
    with pytest.raises(SMDebugValueError, match="cannot be set when disable_framework_metrics is True"):
        estimator.update_profiler(disable_framework_metrics=True, framework_profile_params=sdk.FrameworkProfile())


def test_disable_and_enable_profiling_know_how_the_job_stands(running):
    """Off has no path, on has that of before."""
    estimator, stub = running(profiler_config=ProfilerConfig("s3://my-bucket/p"))
    described(stub, "Enabled")
    expect(stub, {"DisableProfiler": True})
    estimator.disable_profiling()
    assert estimator.latest_job_profiler_artifacts_path() is None
    described(stub, "Disabled")
    with pytest.raises(SMDebugValueError, match=r"Profiler is already disabled\."):
        estimator.disable_profiling()
    described(stub, "Disabled", ProfilerConfig={"S3OutputPath": "s3://my-bucket/p", "DisableProfiler": True})
    expect(stub, {"DisableProfiler": False, "S3OutputPath": "s3://my-bucket/p"})
    estimator.enable_default_profiling()
    assert estimator.latest_job_profiler_artifacts_path() == "s3://my-bucket/p/running/profiler-output"
    described(stub, "Enabled")
    with pytest.raises(SMDebugValueError, match=r"Debugger monitoring is already enabled\."):
        estimator.enable_default_profiling()


def test_enable_default_profiling_of_a_job_that_had_none_takes_the_output_path(running):
    """There is no other place."""
    estimator, stub = running(disable_profiler=True)
    described(stub, "Disabled")
    expect(stub, {"DisableProfiler": False, "S3OutputPath": BUCKET})
    estimator.enable_default_profiling()
    assert estimator.latest_job_profiler_artifacts_path() == f"{BUCKET}running/profiler-output"


def test_rule_job_summary_has_both_kinds(running):
    """As the service gives them, those on tensors first."""
    estimator, stub = running(rules=[Rule.sagemaker(rule_configs.overfit())])
    debug = [{"RuleConfigurationName": "Overfit", "RuleEvaluationStatus": "IssuesFound", "StatusDetails": "at step 5"}]
    profiler = [{"RuleConfigurationName": "ProfilerReport", "RuleEvaluationStatus": "InProgress"}]
    statuses = {"DebugRuleEvaluationStatuses": debug, "ProfilerRuleEvaluationStatuses": profiler}
    described(stub, "Enabled", **statuses)
    assert estimator.rule_job_summary() == [*debug, *profiler]
    described(stub, "Enabled", **statuses)
    rules = estimator.latest_job_rules()
    assert [(rule.name, rule.status) for rule in rules] == [
        ("Overfit", "IssuesFound"),
        ("ProfilerReport", "InProgress"),
    ]


def test_update_profiler_when_the_estimator_is_the_sdks_own_then_takes_rules_of_this_package(session):
    """A script changes its imports of the debugger package only."""
    estimator = Estimator(IMAGE, ROLE, instance_count=1, instance_type="ml.g5.xlarge", sagemaker_session=session)
    estimator.fit(wait=False, job_name="running")
    with Stubber(session.sagemaker_client) as stub:
        described(stub, "Enabled", ProfilerConfig={"S3OutputPath": BUCKET})
        stub.add_response(
            "update_training_job",
            ARN,
            {"TrainingJobName": "running", "ProfilerRuleConfigurations": [REPORT], "ProfilerConfig": ANY},
        )
        estimator.update_profiler(rules=[ProfilerRule.sagemaker(rule_configs.ProfilerReport())])
        stub.assert_no_pending_responses()


def test_update_profiler_when_its_rules_are_no_rules_then_raises_runtime_error(running):
    """As the SDK does, so that `except RuntimeError` still catches."""
    estimator, _ = running()
    with pytest.raises(RuntimeError):
        estimator.update_profiler(rules=[1])
