"""The six recorded cases, sent by the real SDK with our mixin and our objects."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from sagemaker.pytorch import PyTorch

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    FrameworkProfile,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    TensorBoardOutputConfig,
    rule_configs,
)
from sagemaker_debug_ext.errors import DebugExtWarning
from sagemaker_debug_ext.sdk import with_debugger
from sagemaker_debug_ext.testing.aws import ROLE
from sagemaker_debug_ext.testing.configurations import normalised

VERSION = tuple(int(part) for part in version("sagemaker").split(".")[:2])
pytestmark = pytest.mark.skipif(VERSION < (2, 200), reason="the release does not know the framework of the recordings")

PAYLOADS = Path(__file__).parents[2] / "golden" / "payloads"
MEMBERS = (
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "TensorBoardOutputConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
)


def hook_collections():
    hook = DebuggerHookConfig(
        s3_output_path="s3://my-bucket/debugger",
        container_local_output_path="/smdebug/tensors",
        hook_parameters={"save_interval": "100", "train.save_interval": "200"},
        collection_configs=[
            CollectionConfig("losses", {"save_interval": "50"}),
            CollectionConfig("weights"),
            CollectionConfig(
                "custom_relu",
                {
                    "include_regex": ".*relu_output",
                    "train.save_interval": "10",
                    "eval.save_interval": "1",
                    "reductions": "min,max,mean",
                },
            ),
        ],
    )
    return {"debugger_hook_config": hook}


def mixed_rules():
    return {
        "output_path": "s3://my-bucket/out",
        "rules": [
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.overfit()),
            Rule.sagemaker(
                rule_configs.loss_not_decreasing(),
                name="LossStalled",
                container_local_output_path="/opt/ml/processing/loss",
                s3_output_path="s3://my-bucket/rules/loss",
                rule_parameters={"num_steps": "10", "diff_percent": "0.1"},
                collections_to_save=[CollectionConfig("losses", {"save_interval": "50"})],
            ),
            Rule.custom(
                "MyGradientRule",
                "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest",
                "ml.t3.medium",
                10,
                source="my_rule.py",
                rule_to_invoke="CustomGradientRule",
                rule_parameters={"threshold": "20.0"},
                collections_to_save=[CollectionConfig("gradients", {"save_interval": "500"})],
            ),
        ],
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
        "instance_type": "ml.p3.8xlarge",
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


def comparable(request):
    """Leave out the random or content-made folder into which a rule's file is uploaded."""
    members = normalised(request, MEMBERS)
    for rule in members.get("DebugRuleConfigurations", []):
        if "source_s3_uri" in rule["RuleParameters"]:
            start, _, name = rule["RuleParameters"]["source_s3_uri"].rsplit("/", 2)
            rule["RuleParameters"]["source_s3_uri"] = f"{start}/…/{name}"
    return members


@pytest.mark.parametrize("case", CASES)
def test_fit_of_a_recorded_case_sends_what_was_recorded(case, session, requests, script, tmp_path):
    """Debugger members are equal but for the allowed differences, and nothing else of the request changes."""
    (tmp_path / "my_rule.py").write_text("class CustomGradientRule: ...\n")
    recorded = json.loads((PAYLOADS / f"{case}.json").read_text())
    estimator = with_debugger(PyTorch)(
        **{
            "entry_point": script,
            "role": ROLE,
            "instance_type": "ml.p3.2xlarge",
            "instance_count": 1,
            "framework_version": "1.13.1",
            "py_version": "py39",
            "sagemaker_session": session,
            **CASES[case](),
        }
    )
    estimator.fit(wait=False, job_name=recorded["TrainingJobName"])
    (request,) = requests
    assert comparable(request) == comparable(recorded)
    rest = set(request) - set(MEMBERS)
    assert rest == set(recorded) - set(MEMBERS)
    assert request["OutputDataConfig"] == recorded["OutputDataConfig"]
    name, default = recorded["TrainingJobName"], "s3://sagemaker-us-east-1-123456789012"
    hook, out = {
        "v2_hook_collections": ("s3://my-bucket/debugger", default),
        "v2_mixed_rules": ("s3://my-bucket/out", "s3://my-bucket/out"),
        "v2_opt_out": (None, default),
    }.get(case, (default, default))
    tensorboard = "s3://my-bucket/tb" if case == "v2_tensorboard_profiler" else None
    assert estimator.latest_job_debugger_artifacts_path() == (hook and f"{hook}/{name}/debug-output")
    assert estimator.latest_job_profiler_artifacts_path() == f"{out}/{name}/profiler-output"
    assert estimator.latest_job_tensorboard_artifacts_path() == (
        tensorboard and f"{tensorboard}/{name}/tensorboard-output"
    )
