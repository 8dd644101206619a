"""Requests recorded from the SDK, made again with our own configurations.

Allowed differences: the order of collections; an empty list of collections, or ``DisableProfiler: false``, left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_debug_ext.config import ProfilerConfig
from sagemaker_debug_ext.requests import DEBUGGER_MEMBERS, artifact_paths, debugger_request
from sagemaker_debug_ext.requests.checks import check_training_job_request
from support.requests import (
    RECORDED_RULE_FILE,
    RECORDED_SETTINGS,
    normalised,
    recorded_request,
)

PAYLOADS = Path(__file__).parents[2] / "golden" / "payloads"
UPLOADED = "s3://sagemaker-us-east-1-123456789012/MyGradientRule/00000000-0000-4000-8000-000000000000/my_rule.py"


def recorded(case):
    return recorded_request(PAYLOADS, case)


def rebuilt(case):
    request = recorded(case)
    settings = RECORDED_SETTINGS[case]()
    # The SDK switches the profiler on unless told otherwise.
    settings.setdefault("profiler_config", ProfilerConfig())
    return debugger_request(
        job_name=request["TrainingJobName"],
        region="us-east-1",
        output_path=request["OutputDataConfig"]["S3OutputPath"],
        source_uris={RECORDED_RULE_FILE: UPLOADED},
        **settings,
    )


@pytest.mark.parametrize("case", RECORDED_SETTINGS)
def test_debugger_request_for_a_recorded_case_equals_the_recording(case):
    """Our members equal those that the SDK sent, but for the allowed differences."""
    assert normalised(rebuilt(case)) == normalised(recorded(case))


@pytest.mark.parametrize("case", RECORDED_SETTINGS)
def test_check_training_job_request_of_a_recorded_case_finds_nothing(case):
    """The recorded request passes the checks as it is, and with our members in place of its own."""
    request = recorded(case)
    check_training_job_request(request, region="us-east-1")
    rest = {name: value for name, value in request.items() if name not in DEBUGGER_MEMBERS}
    check_training_job_request({**rest, **rebuilt(case)}, region="us-east-1")


@pytest.mark.parametrize(
    ("case", "debugger", "profiler", "tensorboard"),
    [
        ("v2_default_pytorch", "s3://sagemaker-us-east-1-123456789012/golden-pytorch-default", ..., None),
        ("v2_hook_collections", "s3://my-bucket/debugger/golden-hook-collections",
         "s3://sagemaker-us-east-1-123456789012/golden-hook-collections", None),
        ("v2_one_builtin_rule", "s3://sagemaker-us-east-1-123456789012/golden-one-rule", ..., None),
        ("v2_mixed_rules", "s3://my-bucket/out/golden-mixed-rules", ..., None),
        ("v2_opt_out", None, "s3://sagemaker-us-east-1-123456789012/golden-opt-out", None),
        ("v2_tensorboard_profiler", "s3://sagemaker-us-east-1-123456789012/golden-tb-profiler", ...,
         "s3://my-bucket/tb/golden-tb-profiler/tensorboard-output"),
    ],
)  # fmt: skip
def test_artifact_paths_of_a_recorded_case_are_those_of_the_sdk(case, debugger, profiler, tensorboard):
    """Paths are those the SDK gave, and None where it raised for a job without a hook."""
    paths = artifact_paths(recorded(case))
    assert paths.debugger == (debugger and f"{debugger}/debug-output")
    assert paths.profiler == f"{debugger if profiler is ... else profiler}/profiler-output"
    assert paths.tensorboard == tensorboard
