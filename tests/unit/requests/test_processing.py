"""Requests for Processing jobs that evaluate a trial."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import ProfilerRule, Rule, StopTraining
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.requests.checks import check_processing_job_request
from sagemaker_debug_ext.requests.processing import processing_job_request
from sagemaker_debug_ext.rules.action import parse_actions
from sagemaker_debug_ext.rules.processing import parse_rules

GIVEN = {
    "job_name": "evaluate-run1",
    "image_uri": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/rules:1",
    "role_arn": "arn:aws:iam::123456789012:role/evaluate",
    "trial_path": "s3://bucket/run1/debug-output/",
    "output_path": "s3://bucket/run1/evaluation",
}
EXPLODING = Rule.sagemaker(rule_configs.exploding_tensor(), rule_parameters={"only_nan": True})


def test_a_whole_request_is_as_expected_and_passes_the_services_model():
    """Every member, once."""
    rules = [
        EXPLODING,
        Rule.custom("mine", None, "ml.t3.medium", 10, source="s3://bucket/code/my_rule.py", rule_to_invoke="Mine"),
    ]
    options = {"instance_count": 3, "max_runtime_in_seconds": 600, "environment": {"A": "b"}, "fail_on_issues": True}
    request = processing_job_request(**GIVEN, rules=rules, **options)
    check_processing_job_request(request)
    described = (
        '{"ExplodingTensor":{"rule":"ExplodingTensor","parameters":{"only_nan":"True"}},'
        '"mine":{"rule":"Mine","parameters":{},"source":"/opt/ml/processing/input/code/1/my_rule.py"}}'
    )
    file_input = {"S3DataType": "S3Prefix", "S3InputMode": "File"}
    assert request == {
        "ProcessingJobName": "evaluate-run1",
        "RoleArn": GIVEN["role_arn"],
        "AppSpecification": {
            "ImageUri": GIVEN["image_uri"],
            "ContainerEntrypoint": ["python3", "-m", "sagemaker_debug_ext.rules.processing"],
            "ContainerArguments": [
                "--trial", "s3://bucket/run1/debug-output", "--rules", described, "--fail-on-issues",
            ],
        },
        "ProcessingInputs": [
            {"InputName": "index", "S3Input": {
                "S3Uri": "s3://bucket/run1/debug-output/index/", "LocalPath": "/opt/ml/processing/input/index",
                "S3DataDistributionType": "ShardedByS3Key", **file_input}},
            {"InputName": "code-1", "S3Input": {
                "S3Uri": "s3://bucket/code/my_rule.py", "LocalPath": "/opt/ml/processing/input/code/1",
                "S3DataDistributionType": "FullyReplicated", **file_input}},
        ],
        "ProcessingOutputConfig": {"Outputs": [{"OutputName": "results", "S3Output": {
            "S3Uri": "s3://bucket/run1/evaluation", "LocalPath": "/opt/ml/processing/output",
            "S3UploadMode": "EndOfJob"}}]},
        "ProcessingResources": {"ClusterConfig": {
            "InstanceCount": 3, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 30}},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        "Environment": {"A": "b"},
    }  # fmt: skip


def test_long_descriptions_of_rules_are_cut_into_arguments_that_the_job_puts_together():
    """Arguments of containers are short."""
    pattern = "|".join(f"layer-{number}" for number in range(25))
    rules = [
        Rule.sagemaker(rule_configs.dead_relu(), name=f"dead {number}", rule_parameters={"tensor_regex": pattern})
        for number in range(20)
    ]
    stopping = Rule.sagemaker(rule_configs.exploding_tensor(), actions=StopTraining())
    request = processing_job_request(**GIVEN, rules=[*rules, stopping], training_job_name="run1")
    check_processing_job_request(request)
    pieces = request["AppSpecification"]["ContainerArguments"][3:]
    assert len(pieces) > 20
    assert not any(piece.startswith("-") for piece in pieces)
    found = parse_rules("".join(pieces))
    assert found["dead 19"].parameters == {"tensor_regex": pattern}
    (action,) = parse_actions(found["ExplodingTensor"].parameters["action_json"])
    assert action["training_job_prefix"] == "run1"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"trial_path": "/tmp/run1"}, SMDebugValueError, "trial_path must be on S3"),
        ({"output_path": "run1"}, SMDebugValueError, "output_path must be on S3"),
        ({"rules": []}, SMDebugValueError, "at least one rule"),
        ({"rules": [EXPLODING, EXPLODING]}, SMDebugValueError, "'ExplodingTensor' twice"),
        ({"rules": ["ExplodingTensor"]}, SMDebugTypeError, "rules on tensors"),
        ({"rules": [ProfilerRule.sagemaker(rule_configs.LowGPUUtilization())]}, SMDebugTypeError, "rules on tensors"),
        (
            {"rules": [Rule.custom("a", None, "ml.t3.medium", 10, source="mine.py", rule_to_invoke="A")]},
            SMDebugValueError,
            "source of rule 'a' must be on S3",
        ),
    ],
)
def test_what_cannot_become_a_job_is_refused(changes, error, words):
    """Naming what was wrong."""
    with pytest.raises(error, match=words):
        processing_job_request(**{**GIVEN, "rules": [EXPLODING], **changes})


def test_what_the_service_would_refuse_is_found_by_the_check():
    """All problems at once."""
    request = processing_job_request(**{**GIVEN, "job_name": "a b", "role_arn": "x"}, rules=[EXPLODING])
    with pytest.raises(RequestValidationError, match="ProcessingJobName") as caught:
        check_processing_job_request(request)
    assert "RoleArn" in str(caught.value)
