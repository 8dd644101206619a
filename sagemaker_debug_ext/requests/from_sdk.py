"""Conversion of the SDK's objects, and of members of requests, to the configurations of this package.

The functions check attributes rather than classes because versions 2 and 3 of the SDK have objects with the same names
and attributes, and shapes whose fields are the members of a request.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext import config as configs  # loads the classes for the profiler on first use
from sagemaker_debug_ext.catalog.images import (
    BUILTIN_REPOSITORY,
    parse_image_uri,
)
from sagemaker_debug_ext.catalog.registry import get_rule_spec, rule_names
from sagemaker_debug_ext.config.actions import ActionList, StopTraining, parse_actions, to_actions
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig, to_collections
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.config.rules import DEFAULT_IMAGE, PROFILER_RULE_NAME, ProfilerRule, Rule
from sagemaker_debug_ext.errors import SettingTypeError, SMDebugTypeError

_METRICS_FIELDS: Final = {
    "StartStep": "start_step",
    "NumSteps": "num_steps",
    "StartTimeInSecSinceEpoch": "start_unix_time",
    "Duration": "duration",
    "MetricsRegex": "metrics_regex",
    "ProfilerName": "python_profiler",
    "cProfileTimer": "cprofile_timer",
}
"""Field in a request → field of a metrics configuration."""


def given_value(value: object) -> Any:
    """Return a value of the SDK; None for the marker that its shapes use for unset fields."""
    return None if type(value).__name__ == "Unassigned" else value


def given_field(item: object, *names: str) -> Any:
    """Return the first of some fields of an SDK object that is set; None if none is."""
    return next((value for name in names if (value := given_value(getattr(item, name, None))) is not None), None)


def _has(item: object, *names: str) -> bool:
    return all(hasattr(item, name) for name in names)


def hook_from_sdk(setting: Any) -> Any:
    """Return our configuration for one of the SDK; other values unchanged.

    Raises:
        SMDebugTypeError: A part of it has the wrong type.
        SMDebugValueError: A part of it is not allowed.
    """
    if isinstance(setting, DebuggerHookConfig):
        return setting
    if _has(setting, "collection_configs", "hook_parameters"):
        collections: Iterable[Any] | None = setting.collection_configs
        if isinstance(collections, (set, frozenset)):
            # The SDK leaves an unordered list, including collections of rules, on an object that it has used before.
            collections = sorted(collections, key=lambda item: (str(item.name), str(sorted(item.parameters or {}))))
        return DebuggerHookConfig(
            setting.s3_output_path, setting.container_local_output_path, setting.hook_parameters, collections
        )
    if _has(setting, "collection_configurations", "hook_parameters"):
        return DebuggerHookConfig(
            given_value(setting.s3_output_path),
            given_value(setting.local_path),
            given_value(setting.hook_parameters),
            [_collection_of_shape(shape) for shape in given_value(setting.collection_configurations) or ()],
        )
    return setting


def _collection_of_shape(shape: Any) -> CollectionConfig:
    return CollectionConfig(given_value(shape.collection_name), given_value(shape.collection_parameters))


def tensorboard_from_sdk(config: Any) -> TensorBoardOutputConfig | None:
    """Return our configuration for one of the SDK; None stays None.

    Raises:
        SMDebugTypeError: The value has another type.
        SMDebugValueError: A path is not allowed.
    """
    if config is None or isinstance(config, TensorBoardOutputConfig):
        return config
    if not _has(config, "s3_output_path"):
        raise SMDebugTypeError(f"tensorboard_output_config must be a TensorBoardOutputConfig or None (got {config!r})")
    return TensorBoardOutputConfig(
        given_field(config, "s3_output_path"), given_field(config, "container_local_output_path", "local_path")
    )


def profiler_from_sdk(config: Any) -> configs.ProfilerConfig | None:
    """Return our configuration for one of the SDK; None stays None.

    Raises:
        SMDebugTypeError: The value has another type.
        SMDebugValueError: A value is not allowed.
    """
    if config is None or isinstance(config, configs.ProfilerConfig):
        return config
    # Old releases of the SDK lack the switch, and its shapes have another name for the interval.
    if not (_has(config, "s3_output_path", "system_monitor_interval_millis") or _has(config, "disable_profiler")):
        raise SMDebugTypeError(f"profiler_config must be a ProfilerConfig or None (got {config!r})")
    params = given_field(config, "framework_profile_params", "profile_params")
    parameters = given_field(params, "profiling_parameters") if params else given_field(config, "profiling_parameters")
    disabled = given_field(config, "disable_profiler")
    return _profiler(
        s3_output_path=given_field(config, "s3_output_path"),
        interval=given_field(config, "system_monitor_interval_millis", "profiling_interval_in_milliseconds"),
        parameters=parameters or {},
        disabled=disabled if disabled is not None else False,
    )


def framework_profile_from_sdk(profile: Any) -> configs.FrameworkProfile | None:
    """Return our framework metrics for those of the SDK; None stays None.

    Raises:
        SMDebugTypeError: The value has another type.
    """
    if profile is None or isinstance(profile, configs.FrameworkProfile):
        return profile
    parameters = given_field(profile, "profiling_parameters")
    if not isinstance(parameters, Mapping):
        raise SMDebugTypeError(f"framework_profile_params must be a FrameworkProfile or None (got {profile!r})")
    return _framework_profile(parameters)


def _profiler(
    s3_output_path: Any, interval: Any, parameters: Mapping[str, str], disabled: Any
) -> configs.ProfilerConfig:
    profile: dict[str, Any] = {}
    if "CPUProfilingDuration" in parameters:
        profile["profile_params"] = configs.Profiler(
            parameters["CPUProfilingDuration"], parameters.get("SMPFileRotationSecs", 600)
        )
    elif parameters:
        profile["framework_profile_params"] = _framework_profile(parameters)
    return configs.ProfilerConfig(
        s3_output_path=None if disabled is True else s3_output_path,
        system_monitor_interval_millis=interval,
        disable_profiler=disabled,
        **profile,
    )


def _framework_profile(parameters: Mapping[str, str]) -> configs.FrameworkProfile:
    """Parse the value of `FrameworkProfile.profiling_parameters`."""
    from sagemaker_debug_ext.config.profiler import METRICS_CONFIGS  # noqa: PLC0415 - for old containers only

    fields: dict[str, Any] = {
        "local_path": parameters.get("LocalPath"),
        "file_max_size": parameters.get("RotateMaxFileSizeInBytes"),
        "file_close_interval": parameters.get("RotateFileCloseIntervalInSeconds"),
        "file_open_fail_threshold": parameters.get("FileOpenFailThreshold"),
    }
    numbers = {
        name: value if name == "local_path" else ast.literal_eval(value) for name, value in fields.items() if value
    }
    metrics = {}
    for field, kind in METRICS_CONFIGS.items():
        if text := parameters.get(kind.__name__):
            values = ast.literal_eval(text)
            metrics[field] = kind(**{_METRICS_FIELDS[name]: value for name, value in values.items()})
    return configs.FrameworkProfile(**numbers, **metrics)


def rules_from_sdk(rules: Any) -> tuple[Rule | ProfilerRule, ...]:
    """Return our rules for those of the SDK, which may be mixed with ours; None results in no rules.

    Raises:
        SMDebugTypeError: An item is not a rule.
        SMDebugValueError: A part of a rule is not allowed.
    """
    if rules is None:
        return ()
    if isinstance(rules, (str, Mapping)) or not isinstance(rules, Iterable):
        raise SettingTypeError(f"rules must be a list of Rule and ProfilerRule (got {rules!r})")
    return tuple(map(_adopt_rule, rules))


def _adopt_rule(rule: Any) -> Rule | ProfilerRule:
    if isinstance(rule, (Rule, ProfilerRule)):
        return rule
    if _has(rule, "name", "image_uri", "rule_parameters"):
        parameters = rule.rule_parameters or {}
        if _has(rule, "to_debugger_rule_config_dict"):
            return _debugger_rule(
                _rule_fields(rule, parameters), rule.collection_configs, getattr(rule, "actions", None)
            )
        if _has(rule, "to_profiler_rule_config_dict"):
            # The SDK's profiler rules hold typed values, and None for unset ones.
            texts = {name: "None" if value is None else value for name, value in parameters.items()}
            return ProfilerRule(**_rule_fields(rule, texts))
    if _has(rule, "rule_configuration_name", "rule_evaluator_image"):
        fields = _fields_of_shape(rule)
        return (
            ProfilerRule(**fields) if type(rule).__name__.startswith("Profiler") else _debugger_rule(fields, (), None)
        )
    raise SettingTypeError(f"rules must be a list of Rule and ProfilerRule (got {rule!r} among them)")


def _rule_fields(rule: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return _rule_arguments(
        name=rule.name,
        image_uri=rule.image_uri,
        instance_type=rule.instance_type,
        volume_size_in_gb=rule.volume_size_in_gb,
        container_local_output_path=rule.container_local_output_path,
        s3_output_path=rule.s3_output_path,
        rule_parameters=parameters,
    )


def _fields_of_shape(shape: Any) -> dict[str, Any]:
    return _rule_arguments(
        name=shape.rule_configuration_name,
        image_uri=shape.rule_evaluator_image,
        instance_type=given_value(shape.instance_type),
        volume_size_in_gb=given_value(shape.volume_size_in_gb),
        container_local_output_path=given_value(shape.local_path),
        s3_output_path=given_value(shape.s3_output_path),
        rule_parameters=given_value(shape.rule_parameters),
    )


def _rule_arguments(*, image_uri: Any, name: Any, **fields: Any) -> dict[str, Any]:
    """Return the arguments of a rule; built-in rules get no image, so that they work in every region."""
    processing = isinstance(name, str) and name.startswith(PROFILER_RULE_NAME)
    location = parse_image_uri(image_uri) if isinstance(image_uri, str) else None
    built_in = image_uri == DEFAULT_IMAGE or (location is not None and location.repository == BUILTIN_REPOSITORY)
    if built_in and not processing:
        fields.update(instance_type=None, volume_size_in_gb=None)
    return {
        "name": name,
        "image_uri": None if built_in else image_uri,
        "built_in": built_in and not processing,
        **{field: value for field, value in fields.items() if value},
    }


def _debugger_rule(fields: dict[str, Any], collections: Any, actions: Any) -> Rule:
    parameters = dict(fields.get("rule_parameters", {}))
    action_json = parameters.pop("action_json", None)
    if actions is None and isinstance(action_json, str):
        parsed = parse_actions(action_json)
        actions = parsed[0] if len(parsed) == 1 else ActionList(*parsed)
    chosen = to_collections(collections)
    default = _default_collections(parameters.get("rule_to_invoke")) if fields["built_in"] else ()
    return Rule(
        **{**fields, "rule_parameters": parameters},
        collections_to_save=() if chosen == default else chosen,
        default_collections=default if chosen == default else (),
        actions=to_actions(actions),
    )


def _default_collections(rule_to_invoke: object) -> tuple[CollectionConfig, ...]:
    if isinstance(rule_to_invoke, str) and rule_to_invoke in rule_names():
        return get_rule_spec(rule_to_invoke).collections
    return ()


def settings_of_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Read the Debugger settings back from a CreateTrainingJob request or a DescribeTrainingJob response.

    The result holds arguments of `debugger_request`. Missing members become settings that request nothing. Paths are
    explicit, and collections that rules requested belong to the hook. A StopTraining action for the job itself loses
    its prefix, so that it applies to the next job.

    Raises:
        SMDebugTypeError: A member has the wrong form.
        SMDebugValueError: A member holds a value that is not allowed.
    """
    name = job.get("TrainingJobName")
    profiler = job.get("ProfilerConfig")
    tensorboard = job.get("TensorBoardOutputConfig")
    return {
        "debugger_hook_config": _hook_of_member(job["DebugHookConfig"]) if job.get("DebugHookConfig") else False,
        "rules": [
            *(_rule_of_member(member, name) for member in job.get("DebugRuleConfigurations") or ()),
            *(ProfilerRule(**_arguments_of_member(member)) for member in job.get("ProfilerRuleConfigurations") or ()),
        ],
        "tensorboard_output_config": TensorBoardOutputConfig(tensorboard["S3OutputPath"], tensorboard.get("LocalPath"))
        if tensorboard
        else None,
        "profiler_config": _profiler(
            profiler.get("S3OutputPath"),
            profiler.get("ProfilingIntervalInMilliseconds"),
            profiler.get("ProfilingParameters") or {},
            profiler.get("DisableProfiler", False),
        )
        if profiler
        else None,
    }


def _hook_of_member(member: Mapping[str, Any]) -> DebuggerHookConfig:
    return DebuggerHookConfig(
        member["S3OutputPath"],
        member.get("LocalPath"),
        member.get("HookParameters"),
        [
            CollectionConfig(collection["CollectionName"], collection.get("CollectionParameters"))
            for collection in member.get("CollectionConfigurations") or ()
        ],
    )


def _arguments_of_member(member: Mapping[str, Any]) -> dict[str, Any]:
    return _rule_arguments(
        name=member["RuleConfigurationName"],
        image_uri=member["RuleEvaluatorImage"],
        instance_type=member.get("InstanceType"),
        volume_size_in_gb=member.get("VolumeSizeInGB"),
        container_local_output_path=member.get("LocalPath"),
        s3_output_path=member.get("S3OutputPath"),
        rule_parameters=member.get("RuleParameters"),
    )


def _rule_of_member(member: Mapping[str, Any], job_name: object) -> Rule:
    rule = _debugger_rule(_arguments_of_member(member), (), None)
    if rule.actions is None:
        return rule
    members: Sequence[Any] = rule.actions.actions if isinstance(rule.actions, ActionList) else (rule.actions,)
    own = StopTraining(job_name) if isinstance(job_name, str) else None
    renamed = [StopTraining() if action == own else action for action in members]
    return attrs.evolve(rule, actions=ActionList(*renamed) if isinstance(rule.actions, ActionList) else renamed[0])
