"""Requests in tests: the recorded cases as configurations of ours, comparison, botocore's own check."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import botocore.session
import botocore.validate

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
from sagemaker_debug_ext.requests import DEBUGGER_MEMBERS


def debugger_members(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a request that this package makes, as they are."""
    return {name: request[name] for name in DEBUGGER_MEMBERS if name in request}


def normalised(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Debugger members of a request without what may differ between two that mean the same.

    These are the order of collections, an empty list of them, actions' spelling and ``DisableProfiler: false``.
    """
    members = {name: member for name, member in debugger_members(request).items() if member is not None}
    if "DebugHookConfig" in members:
        hook = dict(members["DebugHookConfig"])
        collections = [
            {key: value for key, value in item.items() if value} for item in hook.pop("CollectionConfigurations", [])
        ]
        if collections:
            hook["CollectionConfigurations"] = sorted(collections, key=lambda item: str(item["CollectionName"]))
        members["DebugHookConfig"] = {key: value for key, value in hook.items() if value}
    if "ProfilerConfig" in members:
        profiler = members["ProfilerConfig"]
        members["ProfilerConfig"] = {key: value for key, value in profiler.items() if value is not False}
    for name in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
        if name in members:
            members[name] = [_normalised_rule(rule) for rule in members[name]]
    return members


def _normalised_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    parameters = dict(rule.get("RuleParameters", {}))
    if "action_json" in parameters:
        parsed = json.loads(parameters["action_json"].replace('\\"', '"'))
        parameters["action_json"] = parsed if isinstance(parsed, list) else [parsed]
    return {**rule, "RuleParameters": parameters}


def botocore_check() -> Callable[[Mapping[str, Any]], str]:
    """Return botocore's own check of a CreateTrainingJob request, which gives a report, empty if all is well."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model("CreateTrainingJob").input_shape
    assert shape is not None

    def check(request: Mapping[str, Any]) -> str:
        report: str = botocore.validate.ParamValidator().validate(request, shape).generate_report()
        return report

    return check


def recorded_request(folder: Path, case: str) -> dict[str, Any]:
    """Return a request that the SDK sent."""
    request: dict[str, Any] = json.loads((folder / f"{case}.json").read_text(encoding="utf-8"))
    return request


def _hook_collections() -> dict[str, Any]:
    hook = DebuggerHookConfig(
        s3_output_path="s3://my-bucket/debugger",
        container_local_output_path="/smdebug/tensors",
        hook_parameters={"save_interval": 100, "train.save_interval": "200"},
        collection_configs=[
            CollectionConfig("losses", {"save_interval": 50}),
            CollectionConfig("weights"),
            CollectionConfig(
                "custom_relu",
                {
                    "include_regex": ".*relu_output",
                    "train.save_interval": "10",
                    "eval.save_interval": 1,
                    "reductions": ["min", "max", "mean"],
                },
            ),
        ],
    )
    return {"debugger_hook_config": hook}


def _mixed_rules() -> dict[str, Any]:
    return {
        "rules": [
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.overfit()),
            Rule.sagemaker(
                rule_configs.loss_not_decreasing(),
                name="LossStalled",
                container_local_output_path="/opt/ml/processing/loss",
                s3_output_path="s3://my-bucket/rules/loss",
                rule_parameters={"num_steps": 10, "diff_percent": "0.1"},
                collections_to_save=[CollectionConfig("losses", {"save_interval": "50"})],
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
        ]
    }


def _tensorboard_profiler() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DebugExtWarning)  # the service no longer collects framework metrics
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


RECORDED_SETTINGS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "v2_default_pytorch": dict,
    "v2_hook_collections": _hook_collections,
    "v2_one_builtin_rule": lambda: {"rules": [Rule.sagemaker(rule_configs.vanishing_gradient())]},
    "v2_mixed_rules": _mixed_rules,
    "v2_opt_out": lambda: {"debugger_hook_config": False},
    "v2_tensorboard_profiler": _tensorboard_profiler,
}
"""Recorded case → the Debugger settings it was made with, as our own configurations; some values typed, some texts."""
RECORDED_RULE_FILE: Final = "my_rule.py"
"""The source file that a rule of the recorded cases names."""
