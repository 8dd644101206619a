"""Base configurations of all built-in rules, generated from the catalog.

Each debugger rule is a function without arguments; pass its result to `Rule.sagemaker`. Each profiler rule is a class
whose arguments are the rule's parameters; pass an instance to `ProfilerRule.sagemaker`. Actions are exported here too.

Example:
    >>> from sagemaker_debug_ext.rule_configs import vanishing_gradient
    >>> vanishing_gradient()["DebugRuleConfiguration"]["RuleConfigurationName"]
    'VanishingGradient'
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.catalog.registry import (
    MXNET,
    PYTORCH,
    TENSORFLOW,
    XGBOOST,
    get_collection,
    get_rule_groups,
    get_rule_spec,
)
from sagemaker_debug_ext.catalog.specs import ParameterSpec, RuleConfig, RuleSpec
from sagemaker_debug_ext.config.actions import SMS, Action, ActionList, Email, StopTraining, is_valid_action_object
from sagemaker_debug_ext.config.rules import (
    PROCESSING_INSTANCE_TYPE,
    PROCESSING_VOLUME_SIZE_IN_GB,
    ProfilerRule,
    processing_rule,
)
from sagemaker_debug_ext.errors import did_you_mean, profiling_errors

__all__ = [
    # debugger rules
    "all_zero",
    "check_input_images",
    "class_imbalance",
    "confusion",
    "create_xgboost_report",
    "dead_relu",
    "exploding_tensor",
    "feature_importance_overweight",
    "loss_not_decreasing",
    "nlp_sequence_ratio",
    "overfit",
    "overtraining",
    "poor_weight_initialization",
    "saturated_activation",
    "similar_across_runs",
    "stalled_training_rule",
    "tensor_variance",
    "tree_depth",
    "unchanged_tensor",
    "vanishing_gradient",
    "weight_update_ratio",
    # profiler rules
    "BatchSize",
    "CPUBottleneck",
    "Dataloader",
    "GPUMemoryIncrease",
    "IOBottleneck",
    "LoadBalancing",
    "LowGPUUtilization",
    "MaxInitializationTime",
    "OverallFrameworkMetrics",
    "OverallSystemUsage",
    "ProfilerReport",
    "StepOutlier",
    "get_default_profiler_rule",
    "get_default_profiler_processing_job",
    # actions
    "Action",
    "ActionList",
    "Email",
    "SMS",
    "StopTraining",
    "is_valid_action_object",
    # collections and groups of rules
    "get_collection",
    "get_rule_groups",
    "MXNET",
    "PYTORCH",
    "TENSORFLOW",
    "XGBOOST",
]


def get_default_profiler_rule() -> ProfilerRule:
    """Return the rule that runs all other profiler rules. Unlike the SDK's, its name is always the same."""
    return ProfilerRule.sagemaker(ProfilerReport())


def get_default_profiler_processing_job(
    instance_type: str | None = None, volume_size_in_gb: int | None = None
) -> ProfilerRule:
    """Return the rule that processes the recordings of SageMaker Profiler. Its name is always the same.

    Args:
        instance_type: Instance type of the processing job; ml.m5.4xlarge by default.
        volume_size_in_gb: Volume size of the instance; 128 by default.
    """
    return processing_rule(instance_type or PROCESSING_INSTANCE_TYPE, volume_size_in_gb or PROCESSING_VOLUME_SIZE_IN_GB)


def _parameter_docs(spec: RuleSpec) -> Iterator[str]:
    yield spec.doc
    if spec.parameters:
        yield "\nParameters:"
    for parameter in spec.parameters:
        limits = f", {parameter.range}" if parameter.range else ""
        unit = f" {parameter.unit}" if parameter.unit else ""
        yield f"    {parameter.name}: {parameter.doc} {parameter.type}{limits}; default {parameter.default!r}{unit}."


def _debugger_rule(name: str) -> Callable[[], RuleConfig]:
    spec = get_rule_spec(name)

    def rule_config() -> RuleConfig:
        return RuleConfig(spec)

    rule_config.__name__ = rule_config.__qualname__ = spec.function
    rule_config.__doc__ = "\n".join(_parameter_docs(spec))
    return rule_config


class ProfilerRuleConfig:
    """A base configuration for `ProfilerRule.sagemaker`. Use one of the subclasses.

    Attributes:
        rule_name: Name of the rule.
        rule_parameters: All parameters of the rule, typed, and the name of the rule to invoke.
    """

    spec: RuleSpec

    def __init__(self, *args: Any, **parameters: Any) -> None:
        bound = inspect.signature(type(self)).bind(*args, **parameters)
        bound.apply_defaults()
        self._set(bound.arguments)

    def _set(self, parameters: dict[str, Any]) -> None:
        with profiling_errors():
            self.spec.check_parameters(parameters)
        self.rule_name = self.spec.name
        self.rule_parameters = {**parameters, "rule_to_invoke": self.spec.name}

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.rule_parameters.items() if name != "rule_to_invoke"]
        return f"{self.rule_name}({', '.join(given)})"


class _ProfilerReport(ProfilerRuleConfig):
    """Accepts the parameters of the rules it runs; only the given ones are sent."""

    def __init__(self, **rule_parameters: Any) -> None:
        spelling = {parameter.name.casefold(): parameter.name for parameter in self.spec.parameters}
        self._set({spelling.get(name.casefold(), name): value for name, value in rule_parameters.items()})


def _argument(parameter: ParameterSpec) -> inspect.Parameter:
    return inspect.Parameter(parameter.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=parameter.default)


def _profiler_rule(name: str, base: type[ProfilerRuleConfig] = ProfilerRuleConfig) -> type[ProfilerRuleConfig]:
    spec = get_rule_spec(name)
    body = {"__doc__": "\n".join(_parameter_docs(spec)), "__module__": __name__, "spec": spec}
    if base is ProfilerRuleConfig:
        body["__signature__"] = inspect.Signature([_argument(parameter) for parameter in spec.parameters])
    return type(name, (base,), body)


all_zero = _debugger_rule("AllZero")
check_input_images = _debugger_rule("CheckInputImages")
class_imbalance = _debugger_rule("ClassImbalance")
confusion = _debugger_rule("Confusion")
create_xgboost_report = _debugger_rule("CreateXgboostReport")
dead_relu = _debugger_rule("DeadRelu")
exploding_tensor = _debugger_rule("ExplodingTensor")
feature_importance_overweight = _debugger_rule("FeatureImportanceOverweight")
loss_not_decreasing = _debugger_rule("LossNotDecreasing")
nlp_sequence_ratio = _debugger_rule("NLPSequenceRatio")
overfit = _debugger_rule("Overfit")
overtraining = _debugger_rule("Overtraining")
poor_weight_initialization = _debugger_rule("PoorWeightInitialization")
saturated_activation = _debugger_rule("SaturatedActivation")
similar_across_runs = _debugger_rule("SimilarAcrossRuns")
stalled_training_rule = _debugger_rule("StalledTrainingRule")
tensor_variance = _debugger_rule("TensorVariance")
tree_depth = _debugger_rule("TreeDepth")
unchanged_tensor = _debugger_rule("UnchangedTensor")
vanishing_gradient = _debugger_rule("VanishingGradient")
weight_update_ratio = _debugger_rule("WeightUpdateRatio")

BatchSize = _profiler_rule("BatchSize")
CPUBottleneck = _profiler_rule("CPUBottleneck")
Dataloader = _profiler_rule("Dataloader")
GPUMemoryIncrease = _profiler_rule("GPUMemoryIncrease")
IOBottleneck = _profiler_rule("IOBottleneck")
LoadBalancing = _profiler_rule("LoadBalancing")
LowGPUUtilization = _profiler_rule("LowGPUUtilization")
MaxInitializationTime = _profiler_rule("MaxInitializationTime")
OverallFrameworkMetrics = _profiler_rule("OverallFrameworkMetrics")
OverallSystemUsage = _profiler_rule("OverallSystemUsage")
ProfilerReport = _profiler_rule("ProfilerReport", _ProfilerReport)
StepOutlier = _profiler_rule("StepOutlier")

if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, __all__)}")
