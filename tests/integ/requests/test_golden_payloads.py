"""Requests recorded from the SDK, made again with our own configurations.

Allowed differences: the order of collections; an empty list of collections, or ``DisableProfiler: false``, left out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import (
    CollectionConfig,
    DebuggerHookConfig,
    FrameworkProfile,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    TensorBoardOutputConfig,
)
from sagemaker_debug_ext.errors import DebugExtWarning
from sagemaker_debug_ext.requests import artifact_paths, debugger_request
from sagemaker_debug_ext.requests.checks import check_training_job_request

PAYLOADS = Path(__file__).parents[2] / "golden" / "payloads"
MEMBERS = (
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "TensorBoardOutputConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
)
UPLOADED = "s3://sagemaker-us-east-1-123456789012/MyGradientRule/00000000-0000-4000-8000-000000000000/my_rule.py"


def hook_collections():
    hook = DebuggerHookConfig(
        s3_output_path="s3://my-bucket/debugger",
        container_local_output_path="/smdebug/tensors",
        hook_parameters={"save_interval": 100, "train.save_interval": 200},
        collection_configs=[
            CollectionConfig("losses", {"save_interval": 50}),
            CollectionConfig("weights"),
            CollectionConfig(
                "custom_relu",
                {
                    "include_regex": ".*relu_output",
                    "train.save_interval": 10,
                    "eval.save_interval": 1,
                    "reductions": ["min", "max", "mean"],
                },
            ),
        ],
    )
    return {"debugger_hook_config": hook}


def mixed_rules():
    return {
        "rules": [
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.overfit()),
            Rule.sagemaker(
                rule_configs.loss_not_decreasing(),
                name="LossStalled",
                container_local_output_path="/opt/ml/processing/loss",
                s3_output_path="s3://my-bucket/rules/loss",
                rule_parameters={"num_steps": 10, "diff_percent": 0.1},
                collections_to_save=[CollectionConfig("losses", {"save_interval": 50})],
            ),
            Rule.custom(
                "MyGradientRule",
                "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest",
                "ml.t3.medium",
                10,
                source="my_rule.py",
                rule_to_invoke="CustomGradientRule",
                rule_parameters={"threshold": 20.0},
                collections_to_save=[CollectionConfig("gradients", {"save_interval": 500})],
            ),
        ],
        "source_uris": {"my_rule.py": UPLOADED},
    }


def tensorboard_profiler():
    with pytest.warns(DebugExtWarning, match="framework metrics"):
        profiler = ProfilerConfig(
            system_monitor_interval_millis=500,
            framework_profile_params=FrameworkProfile(
                local_path="/opt/ml/output/profiler/", start_step=5, num_steps=10
            ),
        )
    return {
        "tensorboard_output_config": TensorBoardOutputConfig("s3://my-bucket/tb", "/tb-logs"),
        "profiler_config": profiler,
        "rules": [
            ProfilerRule.sagemaker(rule_configs.ProfilerReport()),
            ProfilerRule.sagemaker(rule_configs.LowGPUUtilization(threshold_p95=60), name="LowGpu"),
        ],
    }


CASES = {
    "v2_default_pytorch": dict,
    "v2_hook_collections": hook_collections,
    "v2_one_builtin_rule": lambda: {"rules": [Rule.sagemaker(rule_configs.vanishing_gradient())]},
    "v2_mixed_rules": mixed_rules,
    "v2_opt_out": lambda: {"debugger_hook_config": False},
    "v2_tensorboard_profiler": tensorboard_profiler,
}


def recorded(case):
    return json.loads((PAYLOADS / f"{case}.json").read_text())


def rebuilt(case):
    request = recorded(case)
    settings = CASES[case]()
    # The SDK switches the profiler on unless told otherwise.
    settings.setdefault("profiler_config", ProfilerConfig())
    return debugger_request(
        job_name=request["TrainingJobName"],
        region="us-east-1",
        output_path=request["OutputDataConfig"]["S3OutputPath"],
        **settings,
    )


def normalised(request):
    members = {
        name: dict(request[name]) if "Config" in name[-6:] else request[name] for name in MEMBERS if name in request
    }
    hook = members.get("DebugHookConfig", {})
    collections = hook.pop("CollectionConfigurations", [])
    if collections:
        hook["CollectionConfigurations"] = sorted(collections, key=lambda item: item["CollectionName"])
    profiler = members.get("ProfilerConfig", {})
    if profiler.get("DisableProfiler") is False:
        del profiler["DisableProfiler"]
    return members


@pytest.mark.parametrize("case", CASES)
def test_debugger_request_for_a_recorded_case_equals_the_recording(case):
    """Our members equal those that the SDK sent, but for the allowed differences."""
    assert normalised(rebuilt(case)) == normalised(recorded(case))


@pytest.mark.parametrize("case", CASES)
def test_check_training_job_request_of_a_recorded_case_finds_nothing(case):
    """The recorded request passes the checks as it is, and with our members in place of its own."""
    request = recorded(case)
    check_training_job_request(request, region="us-east-1")
    rest = {name: value for name, value in request.items() if name not in MEMBERS}
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
