"""Configuration of rules: `Rule` watches tensors, `ProfilerRule` watches system and framework metrics."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from sagemaker_debug_ext.config._fields import (
    Number,
    Parameters,
    Text,
    is_image_uri,
    is_local_path,
    is_name,
    is_s3_path,
    is_text,
    is_whole_number,
    present,
    render_parameters,
)
from sagemaker_debug_ext.config.actions import Action, ActionList, to_actions
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import to_collections
from sagemaker_debug_ext.errors import ConflictingSettingsError, DebugExtWarning, SMDebugTypeError, SMDebugValueError

PROFILER_RULE_NAME: Final = "DetailedProfilerProcessingJobConfig"
"""Name prefix of the rule that processes the recordings of SageMaker Profiler; that rule has its own image."""

PROCESSING_INSTANCE_TYPE: Final = "ml.m5.4xlarge"
PROCESSING_VOLUME_SIZE_IN_GB: Final = 128
"""Default instance of that rule."""

DEFAULT_IMAGE: Final = "DEFAULT_RULE_EVALUATOR_IMAGE"
"""The SDK's placeholder for the evaluator of the region."""


@runtime_checkable
class ChecksParameters(Protocol):
    """A base configuration that knows its rule and can check its parameters."""

    def check_parameters(self, parameters: Mapping[str, Text], strict: bool = True) -> None:
        """Raise if the rule does not accept a name or value."""


def _to_parameters(values: Mapping[str, Any] | None) -> Parameters:
    return render_parameters(values, "rule_parameters")


@attrs.frozen(kw_only=True)
class RuleBase:
    """Base class of rules on tensors and rules on profiler metrics. Create one with ``sagemaker`` or ``custom``.

    Args:
        name: Name of the rule, unique within the job.
        built_in: Whether the rule is built into SageMaker and needs no instance.
        image_uri: Image that evaluates the rule; the region's evaluator when None.
        instance_type: Instance type for a custom rule.
        volume_size_in_gb: Volume size of that instance.
        container_local_output_path: Folder for the rule's output inside its container.
        s3_output_path: S3 location for the output; ``<output path>/<job name>/rule-output`` when None.
        rule_parameters: Rendered parameters, including the name of the rule to invoke.
    """

    name: Text = attrs.field(validator=is_name)
    built_in: bool
    image_uri: Text | None = attrs.field(default=None, validator=is_image_uri)
    instance_type: Text | None = attrs.field(default=None, validator=is_text)
    volume_size_in_gb: Number | None = attrs.field(default=None, validator=is_whole_number(0))
    container_local_output_path: Text | None = attrs.field(default=None, validator=is_local_path)
    s3_output_path: Text | None = attrs.field(default=None, validator=is_s3_path)
    rule_parameters: Parameters = attrs.field(default=Parameters(), converter=_to_parameters)

    @property
    def rule_to_invoke(self) -> Text | None:
        """Class name of the rule, which may differ from `name`; None if the image determines it."""
        return self.rule_parameters.get("rule_to_invoke")

    @property
    def source(self) -> Text | None:
        """File with the code of a custom rule: local or on S3."""
        return self.rule_parameters.get("source_s3_uri")

    def to_request_dict(self) -> dict[str, Any]:
        """Return the entry of a request with these settings only.

        The image is the SDK's placeholder if none is set; `sagemaker_debug_ext.requests` finds that of the region.
        """
        return present(
            {
                "RuleConfigurationName": self.name,
                "RuleEvaluatorImage": DEFAULT_IMAGE if self.image_uri is None else self.image_uri,
                "InstanceType": self.instance_type,
                "VolumeSizeInGB": self.volume_size_in_gb,
                "LocalPath": self.container_local_output_path,
                "S3OutputPath": self.s3_output_path,
                "RuleParameters": dict(self.rule_parameters),
            }
        )


@attrs.frozen(kw_only=True)
class Rule(RuleBase):
    """A rule that watches the saved tensors of a job.

    Example:
        >>> from sagemaker_debug_ext import rule_configs
        >>> rule = Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": 1e-5})
        >>> rule.name, dict(rule.rule_parameters)
        ('VanishingGradient', {'rule_to_invoke': 'VanishingGradient', 'threshold': '1e-05'})

    Args:
        collections_to_save: Collections that the user requests; they replace the default ones.
        default_collections: Collections that the rule requests by default.
        actions: Actions to run when the rule fires.
    """

    collections_to_save: tuple[CollectionConfig, ...] = attrs.field(default=(), converter=to_collections)
    default_collections: tuple[CollectionConfig, ...] = attrs.field(default=(), converter=to_collections)
    actions: Action | ActionList | None = attrs.field(default=None, converter=to_actions)

    @property
    def collection_configs(self) -> tuple[CollectionConfig, ...]:
        """The collections that the hook saves for this rule."""
        return self.collections_to_save or self.default_collections

    def to_debugger_rule_config_dict(self) -> dict[str, Any]:
        """Return the entry of ``DebugRuleConfigurations``; see `RuleBase.to_request_dict`."""
        return self.to_request_dict()

    @classmethod
    def sagemaker(
        cls,
        base_config: Mapping[str, Any],
        name: Text | None = None,
        container_local_output_path: Text | None = None,
        s3_output_path: Text | None = None,
        other_trials_s3_input_paths: Sequence[Text] | None = None,
        rule_parameters: Mapping[str, Any] | None = None,
        collections_to_save: Iterable[CollectionConfig] | None = None,
        actions: Action | ActionList | None = None,
        *,
        strict: bool = False,
    ) -> Rule:
        """Choose a built-in rule.

        Args:
            base_config: Result of a function of `sagemaker_debug_ext.rule_configs`.
            name: Name of the rule within the job; the rule's own name by default.
            container_local_output_path: Folder for the rule's output inside its container.
            s3_output_path: S3 location for the output.
            other_trials_s3_input_paths: Trials to compare with, if the rule compares trials.
            rule_parameters: The rule's parameters; omitted ones have the rule's defaults.
            collections_to_save: Collections to save for this rule instead of its default ones; an empty list means the
                default ones.
            actions: Actions to run when the rule fires.
            strict: Raise if a parameter is unknown. By default it is passed on with a warning that names the nearest
                known one.

        Raises:
            SMDebugTypeError: `base_config` does not belong to a debugger rule, or an argument has the wrong type.
            SMDebugValueError: A parameter names the rule to invoke, its value is not allowed, or, if `strict`, it is
                unknown.
        """
        base = _debug_rule_configuration(base_config)
        given = _without_reserved(rule_parameters, "rule_to_invoke", "action_json")
        parameters = render_parameters(
            {**_other_trials(other_trials_s3_input_paths), **base.get("RuleParameters", {}), **given},
            "rule_parameters",
        )
        if isinstance(base_config, ChecksParameters):
            base_config.check_parameters(parameters, strict)
        return cls(
            name=name or base["RuleConfigurationName"],
            built_in=True,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
            rule_parameters=parameters,
            collections_to_save=collections_to_save,
            default_collections=_base_collections(base_config),
            actions=actions,
        )

    @classmethod
    def custom(
        cls,
        name: Text,
        image_uri: Text | None,
        instance_type: Text,
        volume_size_in_gb: Number,
        source: Text | None = None,
        rule_to_invoke: Text | None = None,
        container_local_output_path: Text | None = None,
        s3_output_path: Text | None = None,
        other_trials_s3_input_paths: Sequence[Text] | None = None,
        rule_parameters: Mapping[str, Any] | None = None,
        collections_to_save: Iterable[CollectionConfig] | None = None,
        actions: Action | ActionList | None = None,
    ) -> Rule:
        """Choose a rule of your own.

        Args:
            name: Name of the rule within the job.
            image_uri: Image that evaluates the rule; None means the evaluator for custom rules in the job's region.
            instance_type: Instance type that evaluates the rule.
            volume_size_in_gb: Volume size of that instance.
            source: Python file with the rule's class: local or on S3; a ``file://`` URI for a job that runs on this
                machine. Requires `rule_to_invoke`.
            rule_to_invoke: Name of the class in `source`.
            container_local_output_path: Folder for the rule's output inside its container.
            s3_output_path: S3 location for the output.
            other_trials_s3_input_paths: Trials to compare with.
            rule_parameters: Parameters of the class.
            collections_to_save: Collections to save for this rule.
            actions: Actions to run when the rule fires.

        Raises:
            SMDebugTypeError: An argument has the wrong type.
            SMDebugValueError: `source` is given without `rule_to_invoke` or vice versa, or a value is not
                allowed.
        """
        given = _without_reserved(rule_parameters, "action_json")
        return cls(
            name=name,
            built_in=False,
            image_uri=image_uri,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
            rule_parameters={
                **_other_trials(other_trials_s3_input_paths),
                **_source_parameters(source, rule_to_invoke),
                **given,
            },
            collections_to_save=collections_to_save,
            actions=actions,
        )


@attrs.frozen(kw_only=True)
class ProfilerRule(RuleBase):
    """A rule that watches the system and framework metrics of a job."""

    def to_profiler_rule_config_dict(self) -> dict[str, Any]:
        """Return the entry of ``ProfilerRuleConfigurations``; see `RuleBase.to_request_dict`."""
        return self.to_request_dict()

    @classmethod
    def sagemaker(
        cls,
        base_config: Any,
        name: Text | None = None,
        container_local_output_path: Text | None = None,
        s3_output_path: Text | None = None,
        instance_type: Text | None = None,
        volume_size_in_gb: Number | None = None,
    ) -> ProfilerRule:
        """Choose a built-in profiler rule.

        Args:
            base_config: An instance of a profiler-rule class of `sagemaker_debug_ext.rule_configs`, which holds its
                parameters.
            name: Name of the rule within the job; the rule's own name by default.
            container_local_output_path: Folder for the rule's output inside its container.
            s3_output_path: S3 location for the output.
            instance_type: Ignored, because built-in rules need no instance.
            volume_size_in_gb: Ignored.

        Raises:
            SMDebugTypeError: `base_config` is not a profiler rule, or an argument has the wrong type.
        """
        rule_name = getattr(base_config, "rule_name", None)
        parameters = getattr(base_config, "rule_parameters", None)
        if not isinstance(rule_name, str) or not isinstance(parameters, Mapping):
            raise SMDebugTypeError(
                f"base_config must be an object such as rule_configs.ProfilerReport() (got {base_config!r})"
            )
        if instance_type is not None or volume_size_in_gb is not None:
            warnings.warn(
                "a built-in profiler rule needs no instance: instance_type and volume_size_in_gb are ignored",
                DebugExtWarning,
                stacklevel=2,
            )
        return cls(
            name=name or rule_name,
            built_in=True,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
            # The container expects the string "None" for an unset parameter.
            rule_parameters={key: "None" if value is None else value for key, value in parameters.items()},
        )

    @classmethod
    def custom(
        cls,
        name: Text,
        image_uri: Text | None,
        instance_type: Text,
        volume_size_in_gb: Number,
        source: Text | None = None,
        rule_to_invoke: Text | None = None,
        container_local_output_path: Text | None = None,
        s3_output_path: Text | None = None,
        rule_parameters: Mapping[str, Any] | None = None,
    ) -> ProfilerRule:
        """Choose a custom profiler rule. Arguments and errors are those of `Rule.custom`."""
        return cls(
            name=name,
            built_in=False,
            image_uri=image_uri,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
            rule_parameters={**_source_parameters(source, rule_to_invoke), **(rule_parameters or {})},
        )


def processing_rule(
    instance_type: Text = PROCESSING_INSTANCE_TYPE,
    volume_size_in_gb: Number = PROCESSING_VOLUME_SIZE_IN_GB,
    name: Text = PROFILER_RULE_NAME,
) -> ProfilerRule:
    """Return the rule that processes the recordings of SageMaker Profiler. Its name is always the same.

    Args:
        instance_type: Instance type of the processing job.
        volume_size_in_gb: Volume size of that instance.
        name: Name of the rule within the job; it must start with `PROFILER_RULE_NAME`.
    """
    return ProfilerRule(
        name=name,
        built_in=False,
        instance_type=instance_type,
        volume_size_in_gb=volume_size_in_gb,
        rule_parameters={"rule_to_invoke": "DetailedProfilerProcessing"},
    )


def _debug_rule_configuration(base_config: object) -> Mapping[str, Any]:
    base = base_config.get("DebugRuleConfiguration") if isinstance(base_config, Mapping) else None
    if isinstance(base, Mapping) and "RuleConfigurationName" in base:
        return base
    hint = ""
    if callable(base_config):
        hint = "; call the function of rule_configs"
    elif hasattr(base_config, "rule_name"):
        hint = "; choose profiler rules with ProfilerRule.sagemaker"
    raise SMDebugTypeError(
        f"base_config must be the result of a function such as rule_configs.vanishing_gradient() "
        f"(got {base_config!r}){hint}"
    )


def _base_collections(base_config: Mapping[str, Any]) -> list[CollectionConfig]:
    return [
        CollectionConfig(entry["CollectionName"], entry.get("CollectionParameters"))
        for entry in base_config.get("CollectionConfigurations") or ()
    ]


def _without_reserved(rule_parameters: Mapping[str, Any] | None, *reserved: str) -> Mapping[str, Any]:
    if rule_parameters is None:
        return {}
    if not isinstance(rule_parameters, Mapping):
        raise SMDebugTypeError(f"rule_parameters must be a mapping of names to values (got {rule_parameters!r})")
    for name in reserved:
        if rule_parameters.get(name) is not None:
            instead = "actions" if name == "action_json" else "Rule.custom for a custom rule"
            raise ConflictingSettingsError(
                f"rule_parameters must not hold {name!r}; use {instead} (got {rule_parameters[name]!r})"
            )
    return rule_parameters


def _other_trials(paths: Sequence[Text] | None) -> dict[str, Text]:
    if isinstance(paths, str):
        raise SMDebugTypeError(f"other_trials_s3_input_paths must be a list of paths (got the string {paths!r})")
    return {f"other_trial_{number}": path for number, path in enumerate(paths or ())}


def _source_parameters(source: Text | None, rule_to_invoke: Text | None) -> dict[str, Text]:
    if (source is None) != (rule_to_invoke is None):
        raise SMDebugValueError(
            f"source and rule_to_invoke must be given together: a file and the class in it "
            f"(got source={source!r}, rule_to_invoke={rule_to_invoke!r})"
        )
    return {"source_s3_uri": source, "rule_to_invoke": rule_to_invoke} if source and rule_to_invoke else {}
