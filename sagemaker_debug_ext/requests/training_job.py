"""The Debugger members of a CreateTrainingJob request, and whole requests."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.catalog.images import rule_regions, supports_debugger
from sagemaker_debug_ext.config._fields import Text, render_value
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.config.rules import ProfilerRule, Rule, processing_rule
from sagemaker_debug_ext.errors import DebugExtWarning
from sagemaker_debug_ext.requests._problems import Problems
from sagemaker_debug_ext.requests.from_sdk import hook_from_sdk, profiler_from_sdk, rules_from_sdk, tensorboard_from_sdk
from sagemaker_debug_ext.requests.hook import HookSetting, build_debug_hook_config, resolve_hook
from sagemaker_debug_ext.requests.outputs import build_tensorboard_output_config
from sagemaker_debug_ext.requests.profiler import build_profiler_config, resolve_profiler
from sagemaker_debug_ext.requests.rules import RuleContext, build_rule_configurations

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.profiler import ProfilerConfig

DEBUGGER_MEMBERS: Final = (
    "DebugHookConfig",
    "DebugRuleConfigurations",
    "TensorBoardOutputConfig",
    "ProfilerConfig",
    "ProfilerRuleConfigurations",
)
"""Members of a CreateTrainingJob request that this package builds."""

TAG: Final = {"Key": "sagemaker-debug-ext", "Value": "stop-allowed"}
"""Tag of jobs that may be stopped, for conditions of policies."""


def tags_of(request: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """Return the tags of a request and `TAG`, unless the request has one of this name."""
    tags = list(request.get("Tags") or ())
    return tags if any(tag["Key"] == TAG["Key"] for tag in tags) else [*tags, TAG]


def debugger_request(
    *,
    job_name: str | None,
    region: str,
    output_path: Text | None = None,
    debugger_hook_config: HookSetting = None,
    rules: Iterable[Rule | ProfilerRule] | None = (),
    tensorboard_output_config: TensorBoardOutputConfig | None = None,
    profiler_config: ProfilerConfig | None = None,
    disable_profiler: bool | None = None,
    rule_image_account: str | None = None,
    source_uris: Mapping[str, str] | None = None,
    allow_rules_without_hook: bool = False,
    allow_region: bool = False,
) -> dict[str, Any]:
    """Return the Debugger members for ``create_training_job(**request, **members)``.

    Equal arguments result in equal members, and no argument is modified. Configurations of the SDK are accepted, too,
    and may be mixed with those of this package.

    Args:
        job_name: Name of the job; None if it is not known yet, as in a pipeline.
        region: Region of the job, which determines the images of rules.
        output_path: The job's output path, used for configurations without one.
        debugger_hook_config: Tensors to save. None and True mean the framework's default collections, False no tensors.
        rules: Rules on tensors and rules on profiler metrics, in any order.
        tensorboard_output_config: Location of TensorBoard data, which it requests.
        profiler_config: Configuration of the profiler. Without any profiler setting, the service's default applies.
        disable_profiler: True switches the profiler off, False on.
        rule_image_account: Account with a copy of the rule evaluators; AWS's own by default.
        source_uris: Uploaded files with the code of custom rules: local path → S3 location.
        allow_rules_without_hook: Allow rules although the hook is off and they cannot see data of this job.
        allow_region: Allow a hook and profiler settings in regions in which Debugger is not known to run. Otherwise the
            default hook is left out in these regions with a warning, and other settings raise an error.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        RequestValidationError: The settings conflict. The error lists all problems.
    """
    debugger_rules, profiler_rules = _split(rules)
    own_hook = hook_from_sdk(debugger_hook_config)
    hook = resolve_hook(own_hook)
    profiler_setting = profiler_from_sdk(profiler_config)
    tensorboard = tensorboard_from_sdk(tensorboard_output_config)
    surroundings = RuleContext(
        region=region, job_name=job_name, image_account=rule_image_account, source_uris=source_uris or {}
    )
    problems = Problems()
    members: dict[str, Any] = {}
    if not (allow_region or rule_image_account or supports_debugger(region)):
        asked_for_hook = isinstance(own_hook, DebuggerHookConfig) or bool(debugger_rules)
        asked_for_profiler = disable_profiler is False or bool(profiler_rules) or _collects(profiler_setting)
        hook = _hook_in_other_region(hook, region, asked_for_hook, problems)
        _check_profiler_region(region, asked_for_profiler, problems)
    if hook is None and debugger_rules and not allow_rules_without_hook:
        problems.add(
            "DebugRuleConfigurations", "rules must come with a hook: without one they never see data of the job"
        )
    if hook is not None:
        with problems.below("DebugHookConfig"):
            members["DebugHookConfig"] = build_debug_hook_config(hook, debugger_rules, output_path)
    if debugger_rules:
        with problems.below("DebugRuleConfigurations"):
            members["DebugRuleConfigurations"] = build_rule_configurations(debugger_rules, surroundings)
    if tensorboard is not None:
        with problems.below("TensorBoardOutputConfig"):
            members["TensorBoardOutputConfig"] = build_tensorboard_output_config(tensorboard, output_path)
    with problems.below("ProfilerConfig"):
        profiler = resolve_profiler(profiler_setting, disable_profiler, has_rules=bool(profiler_rules))
        if profiler is not None:
            members["ProfilerConfig"] = build_profiler_config(profiler, output_path)
            if profiler.profile_params and not profiler_rules and (rules is None or debugger_rules):
                profiler_rules = [processing_rule()]
    if profiler_rules:
        with problems.below("ProfilerRuleConfigurations"):
            members["ProfilerRuleConfigurations"] = build_rule_configurations(profiler_rules, surroundings)
    problems.raise_if_any()
    return members


def _split(rules: object) -> tuple[list[Rule], list[ProfilerRule]]:
    chosen = rules_from_sdk(rules)
    return [rule for rule in chosen if isinstance(rule, Rule)], [
        rule for rule in chosen if isinstance(rule, ProfilerRule)
    ]


def _collects(config: ProfilerConfig | None) -> bool:
    return config is not None and config.disable_profiler is not True


def _hook_in_other_region(
    hook: DebuggerHookConfig | None, region: str, asked_for: bool, problems: Problems
) -> DebuggerHookConfig | None:
    """Raise for a hook in a region without Debugger; leave the hook out if it was not requested explicitly."""
    if hook is None or asked_for:
        if hook is not None:
            problems.add(
                "DebugHookConfig",
                "Current region does not support debugger but debugger hook config is set! "
                + _no_debugger(region, "debugger_hook_config=False"),
            )
        return hook
    warnings.warn(f"no DebugHookConfig is sent: {_no_debugger(region)}", DebugExtWarning, stacklevel=3)
    return None


def _check_profiler_region(region: str, asked_for: bool, problems: Problems) -> None:
    if asked_for:
        problems.add("ProfilerConfig", _no_debugger(region, "disable_profiler=True"))


def _no_debugger(region: str, switch: str = "") -> str:
    advice = f"; leave it out with {switch}, or insist with allow_region=True" if switch else ""
    return f"Debugger is not known to run in region {region!r}, only in {', '.join(rule_regions())}{advice}"


def training_job_request(
    *,
    job_name: str,
    role_arn: str,
    image_uri: str,
    region: str,
    output_path: str,
    instance_type: str = "ml.m5.xlarge",
    instance_count: int = 1,
    volume_size_in_gb: int = 30,
    max_runtime_in_seconds: int = 24 * 60 * 60,
    entry_point: Sequence[str] | None = None,
    arguments: Sequence[str] | None = None,
    input_mode: str = "File",
    inputs: Mapping[str, str] | None = None,
    hyperparameters: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    other_members: Mapping[str, Any] | None = None,
    debugger_hook_config: HookSetting = None,
    rules: Iterable[Rule | ProfilerRule] | None = (),
    tensorboard_output_config: TensorBoardOutputConfig | None = None,
    profiler_config: ProfilerConfig | None = None,
    disable_profiler: bool | None = None,
    source_uris: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a whole CreateTrainingJob request, for ``create_training_job(**request)`` or the local runner.

    The request is not validated against the service's model; see `sagemaker_debug_ext.requests.checks`.

    Args:
        job_name: Name of the job.
        role_arn: Role of the job.
        image_uri: Training image.
        region: Region of the job.
        output_path: S3 location for the job's artifacts.
        instance_type: Type of the training instances.
        instance_count: Number of instances.
        volume_size_in_gb: Volume size of each instance.
        max_runtime_in_seconds: Time limit after which the service stops the job.
        entry_point: Command to run instead of the image's own.
        arguments: Arguments of the command.
        input_mode: How channels are provided: ``File``, ``FastFile`` or ``Pipe``.
        inputs: Channels: name → location on S3.
        hyperparameters: Names and values; values are rendered as strings.
        environment: Environment variables; values are rendered as strings.
        other_members: Additional members, such as ``VpcConfig``; they override those built here.
        debugger_hook_config: See `debugger_request`.
        rules: See `debugger_request`.
        tensorboard_output_config: See `debugger_request`.
        profiler_config: See `debugger_request`.
        disable_profiler: See `debugger_request`.
        source_uris: See `debugger_request`.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        RequestValidationError: The Debugger settings conflict.
    """
    members = debugger_request(
        job_name=job_name,
        region=region,
        output_path=output_path,
        debugger_hook_config=debugger_hook_config,
        rules=rules,
        tensorboard_output_config=tensorboard_output_config,
        profiler_config=profiler_config,
        disable_profiler=disable_profiler,
        source_uris=source_uris,
    )
    algorithm = {
        "TrainingImage": image_uri,
        "TrainingInputMode": input_mode,
        "ContainerEntrypoint": list(entry_point or ()),
        "ContainerArguments": list(arguments or ()),
    }
    optional = {
        "InputDataConfig": [_build_channel(name, uri) for name, uri in (inputs or {}).items()],
        "HyperParameters": _render_all(hyperparameters, "hyperparameters"),
        "Environment": _render_all(environment, "environment"),
    }
    return {
        "TrainingJobName": job_name,
        "RoleArn": role_arn,
        "AlgorithmSpecification": {name: value for name, value in algorithm.items() if value},
        "ResourceConfig": {
            "InstanceType": instance_type,
            "InstanceCount": instance_count,
            "VolumeSizeInGB": volume_size_in_gb,
        },
        "OutputDataConfig": {"S3OutputPath": output_path},
        "StoppingCondition": {"MaxRuntimeInSeconds": max_runtime_in_seconds},
        **{name: value for name, value in optional.items() if value},
        **members,
        **(other_members or {}),
    }


def _build_channel(name: str, uri: str) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


def _render_all(values: Mapping[str, Any] | None, where: str) -> dict[str, Text]:
    return {name: render_value(value, f"{where}[{name!r}]") for name, value in (values or {}).items()}
