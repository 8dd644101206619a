"""Generated settings and violations: what passes is taken by botocore, what does not is reported with its path."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sagemaker_debug_ext as ours
from sagemaker_debug_ext.errors import RequestValidationError
from sagemaker_debug_ext.requests.checks import check_training_job_request
from sagemaker_debug_ext.sdk import debugger_request
from support.configurations import build, specs, typed
from support.requests import botocore_check

pytestmark = pytest.mark.filterwarnings("ignore::sagemaker_debug_ext.errors.DebugExtWarning")

JOB = {"job_name": "job-1", "region": "us-east-1", "output_path": "s3://my-bucket/out"}
LONG = "x" * 300


def whole(members):
    return {
        "TrainingJobName": "job-1",
        "RoleArn": "arn:aws:iam::123456789012:role/SageMakerRole",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/out"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        **members,
    }


@pytest.fixture(scope="module")
def validate():
    """Botocore's own check of a request."""
    return botocore_check()


@settings(max_examples=300, derandomize=True)
@given(spec=specs(), as_typed=st.booleans())
def test_generated_settings_pass_all_checks_and_are_serialised_alike(spec, as_typed, validate):
    """Botocore's checks and ours; twice from the same objects, and from others that say the same."""
    arguments = build(spec, ours, typed if as_typed else str)
    members = debugger_request(**JOB, **arguments)
    kept = json.dumps(members)
    assert validate(whole(members)) == ""
    check_training_job_request(whole(members), region="us-east-1")
    assert json.dumps(debugger_request(**JOB, **arguments)) == kept
    assert json.dumps(debugger_request(**JOB, **build(spec, ours))) == kept


def at(request, *path):
    for part in path:
        request = request[part]
    return request


VIOLATIONS = {
    "DebugHookConfig.S3OutputPath": lambda r: at(r, "DebugHookConfig").update(S3OutputPath="ftp://x"),
    "DebugHookConfig.HookParameters": lambda r: at(r, "DebugHookConfig").update(HookParameters={"save_interval": "x"}),
    "DebugHookConfig.CollectionConfigurations": lambda r: at(r, "DebugHookConfig").update(
        CollectionConfigurations=[{"CollectionName": f"c{n}"} for n in range(21)]
    ),
    "DebugHookConfig.CollectionConfigurations[1].CollectionName": lambda r: at(r, "DebugHookConfig").update(
        CollectionConfigurations=[{"CollectionName": "a"}, {"CollectionName": "a"}]
    ),
    "DebugHookConfig.CollectionConfigurations[0].CollectionParameters": lambda r: at(r, "DebugHookConfig").update(
        CollectionConfigurations=[{"CollectionName": "a", "CollectionParameters": {"save_interval": "0"}}]
    ),
    "DebugHookConfig.Collections": lambda r: at(r, "DebugHookConfig").update(Collections=[]),
    "DebugRulesConfigurations": lambda r: r.update(DebugRulesConfigurations=[]),
    "DebugRuleConfigurations[0].RuleConfigurationName": lambda r: at(r, "DebugRuleConfigurations", 0).update(
        RuleConfigurationName=LONG
    ),
    "DebugRuleConfigurations[0].RuleEvaluatorImage": lambda r: at(r, "DebugRuleConfigurations", 0).update(
        RuleEvaluatorImage="503895931360.dkr.ecr.eu-west-1.amazonaws.com/sagemaker-debugger-rules:latest"
    ),
    "DebugRuleConfigurations[0].InstanceType": lambda r: at(r, "DebugRuleConfigurations", 0).update(
        InstanceType="ml.t3.medium"
    ),
    "DebugRuleConfigurations[0].RuleParameters": lambda r: at(r, "DebugRuleConfigurations", 0, "RuleParameters").update(
        threshold="high"
    ),
    "DebugRuleConfigurations[0].RuleParameters.threshold": lambda r: at(
        r, "DebugRuleConfigurations", 0, "RuleParameters"
    ).update(threshold=LONG),
    "DebugRuleConfigurations[0].RuleParameters.action_json": lambda r: at(
        r, "DebugRuleConfigurations", 0, "RuleParameters"
    ).update(action_json='{"name": "stopp"}'),
    "TensorBoardOutputConfig.LocalPath": lambda r: r.update(
        TensorBoardOutputConfig={"S3OutputPath": "s3://b", "LocalPath": "/opt/ml/output/x"}
    ),
    "TensorBoardOutputConfig.S3OutputPath": lambda r: r.update(TensorBoardOutputConfig={}),
    "ProfilerConfig.ProfilingIntervalInMilliseconds": lambda r: r.update(
        ProfilerConfig={"S3OutputPath": "s3://b", "ProfilingIntervalInMilliseconds": 123}
    ),
    "ProfilerConfig.S3OutputPath": lambda r: r.update(
        ProfilerConfig={"S3OutputPath": "s3://b", "DisableProfiler": True}
    ),
    "TrainingJobName": lambda r: r.update(TrainingJobName="-no"),
}
RULE = {"function": "vanishing_gradient", "name": "R", "s3_output_path": None, "rule_parameters": {"threshold": "0.5"},
        "collections_to_save": [], "actions": None}  # fmt: skip


@pytest.mark.parametrize("path", sorted(VIOLATIONS))
@settings(max_examples=20, derandomize=True)
@given(spec=specs(), more=st.lists(st.sampled_from(sorted(VIOLATIONS)), max_size=2))
def test_each_generated_violation_is_reported_with_its_path(spec, path, more, validate):
    """One or several in one request, whatever else is in it."""
    # The request has to have what is to be spoilt.
    hook = spec["debugger_hook_config"] or None
    complete = {**spec, "debugger_hook_config": hook, "rules": [RULE, *spec["rules"]]}
    request = whole(debugger_request(**JOB, **build(complete, ours)))
    spoilt = copy.deepcopy(request)
    for violation in [*more, path]:
        VIOLATIONS[violation](spoilt)
    with pytest.raises(RequestValidationError) as caught:
        check_training_job_request(spoilt, region="us-east-1")
    reported = [problem.split(": ")[0] for problem in caught.value.problems]
    assert path in reported
    check_training_job_request(request, region="us-east-1")
