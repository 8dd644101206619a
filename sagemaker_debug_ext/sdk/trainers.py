"""Trainers of SDK v3 that send Debugger members, for which the SDK has no arguments: `TrainerDebuggerMixin`.

A trainer builds every request in one method: with names in snake case for a normal session, and with the service's
names for pipelines and plain boto3. The mixin adds the Debugger members to the result of that method.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog.images import framework_of_image
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.requests.from_sdk import given_field, given_value
from sagemaker_debug_ext.requests.training_job import tags_of
from sagemaker_debug_ext.sdk._job_accessors import JobAccessors
from sagemaker_debug_ext.sdk._settings import DebuggerSettings, JobDescription, facts_of_request, total_instances

_TUNER: Final = "sagemaker.train.tuner"
_SNAKE: Final = {
    "DebugHookConfig": "debug_hook_config",
    "DebugRuleConfigurations": "debug_rule_configurations",
    "TensorBoardOutputConfig": "tensor_board_output_config",
    "ProfilerConfig": "profiler_config",
    "ProfilerRuleConfigurations": "profiler_rule_configurations",
    "S3OutputPath": "s3_output_path",
    "LocalPath": "local_path",
    "HookParameters": "hook_parameters",
    "CollectionConfigurations": "collection_configurations",
    "CollectionName": "collection_name",
    "CollectionParameters": "collection_parameters",
    "RuleConfigurationName": "rule_configuration_name",
    "RuleEvaluatorImage": "rule_evaluator_image",
    "InstanceType": "instance_type",
    "VolumeSizeInGB": "volume_size_in_gb",
    "RuleParameters": "rule_parameters",
    "ProfilingIntervalInMilliseconds": "profiling_interval_in_milliseconds",
    "ProfilingParameters": "profiling_parameters",
    "DisableProfiler": "disable_profiler",
}
_MAPS: Final = ("HookParameters", "CollectionParameters", "RuleParameters", "ProfilingParameters")
"""Members whose keys come from the user."""

FIELDS: Final = (
    "debugger_hook_config",
    "rules",
    "tensorboard_output_config",
    "profiler_config",
    "disable_profiler",
    "allow_rules_without_hook",
    "allow_region",
    "rule_image_account",
)
"""Fields of `DebuggerSettings` that the mixin adds to a trainer."""


def to_snake(value: Any) -> Any:
    """Convert a member to the spelling of SDK v3: member names in snake case, keys of maps unchanged."""
    if isinstance(value, Mapping):
        return {_SNAKE[key]: dict(item) if key in _MAPS else to_snake(item) for key, item in value.items()}
    return [to_snake(item) for item in value] if isinstance(value, list) else value


class TrainerDebuggerMixin(JobAccessors):
    """Mixin that precedes ``ModelTrainer`` of SDK v3 in the bases of a class; `with_debugger` creates such a class.

    The settings are fields, like the trainer's own, and can also be set with the ``with_…`` methods. Objects of this
    package and of the SDK are accepted, also mixed, and are not modified. ``debugger_hook_config=None`` means the
    default hook (see `set_default_hook`), False means no hook. The profiler is configured only on request.
    """

    debugger_hook_config: Any = None
    rules: Any = None
    tensorboard_output_config: Any = None
    profiler_config: Any = None
    disable_profiler: Any = None
    allow_rules_without_hook: Any = False
    allow_region: Any = False
    rule_image_account: Any = None
    self_managed: Any = None

    if TYPE_CHECKING:  # provided by the trainer
        _latest_training_job: Any

    def with_debugger_hook_config(self, debugger_hook_config: Any = True) -> Any:
        """Set the hook configuration, and return the trainer; True means the default hook, False no hook."""
        self.debugger_hook_config = debugger_hook_config
        return self

    def with_rules(self, rules: Any) -> Any:
        """Set the rules, on tensors and on metrics, replacing earlier ones, and return the trainer."""
        self.rules = rules
        return self

    def with_profiler_config(self, profiler_config: Any = None, disable_profiler: bool | None = None) -> Any:
        """Set the profiler configuration, and return the trainer; without arguments: system metrics."""
        self.profiler_config = profiler_config
        self.disable_profiler = False if profiler_config is None and disable_profiler is None else disable_profiler
        return self

    def with_tensorboard_output_config(self, tensorboard_output_config: Any = None) -> Any:
        """Request TensorBoard data, and return the trainer; the trainer's own shape is accepted, too."""
        if tensorboard_output_config is None:
            return super().with_tensorboard_output_config()  # type: ignore[misc]  # the trainer's
        self.tensorboard_output_config = tensorboard_output_config
        return self

    def with_self_managed(self, self_managed: Any = True) -> Any:
        """Run hook and rules without the Debugger service, and return the trainer; a `SelfManaged` sets how."""
        self.self_managed = self_managed
        return self

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; to a tuner, which copies the field `environment`, that of a self-managed job."""
        value = super().__getattribute__(name)
        if name != "environment" or sys._getframe(1).f_globals.get("__name__") != _TUNER:  # noqa: SLF001 - only it tells
            return value
        options = self._self_managed_options()
        if options is None:
            return value
        facts = attrs.evolve(self._debugger_facts(), is_tuning=True)
        return self._submit_environment(options, facts, given_value(value))

    def _create_training_job_args(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        request: dict[str, Any] = super()._create_training_job_args(*args, **kwargs)  # type: ignore[misc]
        options = self._self_managed_options()
        if "algorithm_specification" in request:
            facts = self._facts_of_arguments(request)
            if options is not None and not facts.is_local:
                channels = list(given_value(request.get("input_data_config")) or ())
                added: dict[str, Any] = {}
                environment = self._submit_environment(
                    options,
                    facts,
                    given_value(request.get("environment")),
                    lambda channel: channels.append(_to_channel(channel)),
                    lambda config: added.update(checkpoint_config=_to_checkpoints(config)),
                )
                added |= {"input_data_config": channels} if channels else {}
                added |= {"tags": _tagged(given_value(request.get("tags")))} if options.tag else {}
                return {**request, **added, "environment": environment}
            members = {_SNAKE[name]: to_snake(member) for name, member in self._submit_members(facts).items()}
        elif "AlgorithmSpecification" in request:
            facts = facts_of_request(request, self._region())
            if options is not None:
                inputs = list(request.get("InputDataConfig") or ())
                added = {}
                environment = self._submit_environment(
                    options,
                    facts,
                    request.get("Environment"),
                    inputs.append,
                    lambda config: added.update(CheckpointConfig=config),
                )
                added |= {"InputDataConfig": inputs} if inputs else {}
                added |= {"Tags": tags_of(request)} if options.tag else {}
                return {**request, **added, "Environment": environment}
            members = self._submit_members(facts)
        else:
            raise SMDebugRuntimeError(
                "this release of the SageMaker SDK builds requests differently; its trainers cannot carry Debugger "
                f"settings (got the members {', '.join(sorted(request))})"
            )
        return {**request, **members}

    def _region(self) -> str:
        return str(self.sagemaker_session.boto_region_name)

    def _facts_of_arguments(self, arguments: Mapping[str, Any]) -> JobDescription:
        """Read the properties of a job from the trainer's arguments, whose values are objects."""
        image = given_field(arguments["algorithm_specification"], "training_image")
        framework, version = framework_of_image(image) if isinstance(image, str) else (None, None)
        resources = arguments.get("resource_config")
        groups = given_field(resources, "instance_groups") or [resources]
        checkpoints = arguments.get("checkpoint_config")
        has_checkpoints = bool(given_field(checkpoints, "s3_uri") and given_field(checkpoints, "local_path"))
        return JobDescription(
            region=self._region(),
            job_name=arguments.get("training_job_name"),
            output_path=given_field(arguments.get("output_data_config"), "s3_output_path"),
            framework=framework,
            framework_version=version,
            instance_types=tuple(kind for group in groups if (kind := given_field(group, "instance_type")) is not None),
            num_instances=total_instances(given_field(group, "instance_count") for group in groups),
            has_checkpoints=has_checkpoints and "huggingface" not in str(image),
            checkpoint_config=_from_checkpoints(checkpoints),
            is_distributed=getattr(self, "distributed", None) is not None and has_checkpoints,
            is_isolated=arguments.get("enable_network_isolation") is True,
            is_local=self._is_local(),
        )

    def _is_local(self) -> bool:
        mode = getattr(self, "training_mode", None)
        return getattr(mode, "name", "") == "LOCAL_CONTAINER"

    def _submitting_clients(self) -> list[Any]:
        resources: Any = importlib.import_module("sagemaker.core.resources")  # only SDK v3 has it
        own = resources.Base.get_sagemaker_client(session=self.sagemaker_session.boto_session)
        return [*super()._submitting_clients(), own]

    # Settings of the trainer.

    def _latest_job_name(self) -> str | None:
        job = self._latest_training_job
        return None if job is None else str(job.training_job_name)

    def _debugger_settings(self) -> DebuggerSettings:
        return DebuggerSettings.adopt(**{name: getattr(self, name) for name in FIELDS})

    def _debugger_facts(self) -> JobDescription:
        image = getattr(self, "training_image", None)
        framework, version = framework_of_image(image) if isinstance(image, str) else (None, None)
        compute = getattr(self, "compute", None)
        return JobDescription(
            region=self._region(),
            output_path=given_field(getattr(self, "output_data_config", None), "s3_output_path"),
            framework=framework,
            framework_version=version,
            instance_types=tuple(kind for kind in [given_field(compute, "instance_type")] if kind is not None),
            checkpoint_config=_from_checkpoints(getattr(self, "checkpoint_config", None)),
            is_isolated=given_field(getattr(self, "networking", None), "enable_network_isolation") is True,
            is_local=self._is_local(),
        )


def _from_checkpoints(config: Any) -> dict[str, Any] | None:
    """Return the member ``CheckpointConfig`` for an object of the SDK; None without one."""
    names = {"S3Uri": "s3_uri", "LocalPath": "local_path"}
    member = {name: value for name, field in names.items() if (value := given_field(config, field)) is not None}
    return member if "S3Uri" in member else None


def _to_checkpoints(config: Mapping[str, Any]) -> Any:
    """Return the object of the SDK for the checkpoints of a request."""
    shapes: Any = importlib.import_module("sagemaker.core.shapes")  # only SDK v3 has it
    return shapes.CheckpointConfig(s3_uri=config["S3Uri"], local_path=config["LocalPath"])


def _tagged(tags: Any) -> list[dict[str, Any]]:
    """Return the tags of a job, objects or dictionaries of the SDK, and the one of jobs that may be stopped."""
    read = [tag if isinstance(tag, Mapping) else {"key": tag.key, "value": tag.value} for tag in tags or ()]
    own = [{"Key": tag["key"], "Value": tag["value"]} for tag in read]
    return [{"key": tag["Key"], "value": tag["Value"]} for tag in tags_of({"Tags": own})]


def _to_channel(channel: Mapping[str, Any]) -> Any:
    """Return the object of the SDK for a channel of a request."""
    shapes: Any = importlib.import_module("sagemaker.core.shapes")  # only SDK v3 has it
    source = channel["DataSource"]["S3DataSource"]
    data = shapes.S3DataSource(
        s3_uri=source["S3Uri"],
        s3_data_type=source["S3DataType"],
        s3_data_distribution_type=source["S3DataDistributionType"],
    )
    return shapes.Channel(
        channel_name=channel["ChannelName"],
        input_mode=channel["InputMode"],
        data_source=shapes.DataSource(s3_data_source=data),
    )
