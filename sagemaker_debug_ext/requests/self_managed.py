"""CreateTrainingJob requests of self-managed jobs: the settings travel in ``Environment``, in no Debugger member.

Settings that are too large for it travel in an input channel, if the caller can upload its file.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from sagemaker_debug_ext._s3_urls import KMS_VARIABLE
from sagemaker_debug_ext.catalog.images import rule_regions
from sagemaker_debug_ext.config.actions import load_entries, may_hold_secret, shown_address
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.job_channel import CHANNEL_NAME, channel_header, channel_input, channel_location
from sagemaker_debug_ext.config.job_spec import (
    MAX_VALUE_LENGTH,
    VARIABLE_PREFIX,
    JobSpec,
    encode_job_spec,
    is_job_spec_variable,
)
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.config.profiler import ProfilerConfig
from sagemaker_debug_ext.config.rules import PROFILER_RULE_NAME, ProfilerRule, Rule
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.errors import DebugExtWarning, JobSpecError, SMDebugTypeError
from sagemaker_debug_ext.requests._problems import Problems
from sagemaker_debug_ext.requests.from_sdk import rules_from_sdk
from sagemaker_debug_ext.requests.hook import HookSetting
from sagemaker_debug_ext.requests.shipping import added_checkpoints, options_for, with_folder
from sagemaker_debug_ext.requests.training_job import DEBUGGER_MEMBERS, TAG, debugger_request, tags_of

MAX_ENTRIES: Final = 100
"""Maximum number of entries of ``Environment`` in a CreateTrainingJob request."""

MAX_TUNING_ENTRIES: Final = 48
"""Maximum number of entries of ``Environment`` in a job definition of a hyperparameter tuning job."""

SWITCH_VARIABLE: Final = "USE_SMDEBUG"
"""Set to 0 unless the user sets it, so that an smdebug installed in the image looks for no configuration file."""

MAX_CHANNELS: Final = 20
"""Maximum number of channels of a training job."""

MAX_TAGS: Final = 50
"""Maximum number of tags of a job."""

MAX_LOCATION_LENGTH: Final = 1024
"""Maximum length of an S3 location in a request."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,511}")

Upload: TypeAlias = Callable[[str, bytes], object]
"""Writes the file of a channel, given the S3 location of the channel and the content of the file."""

_LOG: Final = logging.getLogger(__name__)

_IMAGE_FREE: Final = frozenset({"RuleConfigurationName", "RuleParameters", "S3OutputPath"})
"""Members of a rule that a watcher reads; the others describe the instance that the service would start."""

_ANY_REGION: Final = rule_regions()[0]


def build_job_spec(
    *,
    output_path: str | None = None,
    debugger_hook_config: HookSetting = None,
    rules: Iterable[Rule | ProfilerRule] | None = (),
    tensorboard_output_config: TensorBoardOutputConfig | None = None,
    profiler_config: ProfilerConfig | None = None,
    disable_profiler: bool | None = None,
    source_uris: Mapping[str, str] | None = None,
    self_managed: SelfManaged | bool = True,
) -> JobSpec:
    """Return the job spec for settings that `debugger_request` would render as members of a request.

    The spec holds neither the name of the job nor a region, so that one spec serves every job of a tuning job.

    Args:
        output_path: S3 location for the artifacts of the job.
        debugger_hook_config: See `debugger_request`.
        rules: Rules on tensors, and profiler rules, in any order.
        tensorboard_output_config: See `debugger_request`.
        profiler_config: See `debugger_request`. Without any profiler setting, the job is not profiled.
        disable_profiler: See `debugger_request`.
        source_uris: See `debugger_request`.
        self_managed: How the job is watched; True means ``SelfManaged()``.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        RequestValidationError: The settings conflict, or need the service.
    """
    options = _to_options(self_managed)
    chosen = rules_from_sdk(rules)
    problems = Problems()
    if options.ship == "folder" and output_path is None and isinstance(debugger_hook_config, DebuggerHookConfig):
        folder = debugger_hook_config.container_local_output_path
        output_path = folder if isinstance(folder, str) else None  # nothing is copied to S3
    if debugger_hook_config is False:
        problems.add("DebugHookConfig", "a self-managed job needs a hook (got False); leave out self_managed instead")
    problems.raise_if_any()
    members = debugger_request(
        job_name="",  # an empty prefix of StopTraining means the job itself
        region=_ANY_REGION,
        output_path=output_path,
        debugger_hook_config=debugger_hook_config,
        rules=chosen,
        tensorboard_output_config=tensorboard_output_config,
        profiler_config=profiler_config,
        disable_profiler=disable_profiler,
        source_uris=source_uris,
        allow_region=True,
    )
    output = {"OutputDataConfig": {"S3OutputPath": output_path}}
    return spec_of_members({**members, **output}, options)


def spec_of_members(request: Mapping[str, Any], self_managed: SelfManaged | None = None) -> JobSpec:
    """Return the job spec for a request with Debugger members; images and instances of rules are left out.

    Args:
        request: A CreateTrainingJob request, or its Debugger members alone.
        self_managed: How the job is watched; ``SelfManaged()`` by default.

    Raises:
        SMDebugValueError: The actions of a rule are not valid JSON.
    """
    options = self_managed or SelfManaged()
    profiler = request.get("ProfilerConfig")
    rules = _without_images(request.get("DebugRuleConfigurations", ()))
    for rule in rules:
        _warn_of_secrets(rule)
    return JobSpec(
        hook=request["DebugHookConfig"],
        rules=rules,
        tensorboard=request.get("TensorBoardOutputConfig"),
        profiler=None if profiler is None or profiler.get("DisableProfiler") else profiler,
        profiler_rules=_without_images(request.get("ProfilerRuleConfigurations", ())),
        output_path=(request.get("OutputDataConfig") or {}).get("S3OutputPath"),
        ship=options.ship,
        watch=options.watch_options,
        actions=options.action_options,
    )


def _without_images(rules: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return what a watcher reads of rules; the service's own rule, which prepares files for Studio, is left out."""
    return tuple(
        {name: value for name, value in rule.items() if name in _IMAGE_FREE}
        for rule in rules
        if rule["RuleConfigurationName"] != PROFILER_RULE_NAME
    )


def _warn_of_secrets(rule: Mapping[str, Any]) -> None:
    """Warn of each webhook whose address seems to hold credentials, which the description of the job would show."""
    text = rule.get("RuleParameters", {}).get("action_json")
    for entry in load_entries(text) if isinstance(text, str) and text else ():
        url = entry.get("url") if isinstance(entry, Mapping) else None
        if isinstance(url, str) and may_hold_secret(url):
            warnings.warn(
                f"rule {rule['RuleConfigurationName']!r} sends messages to {shown_address(url)}: the address seems to "
                "hold credentials, which everyone who may describe the job can read; set an environment variable to "
                "it where the watcher runs, and give the action the name of the variable: url_from in place of url",
                DebugExtWarning,
                stacklevel=4,
            )


def self_managed_request(
    request: Mapping[str, Any],
    *,
    debugger_hook_config: HookSetting = None,
    rules: Iterable[Rule | ProfilerRule] | None = (),
    tensorboard_output_config: TensorBoardOutputConfig | None = None,
    profiler_config: ProfilerConfig | None = None,
    disable_profiler: bool | None = None,
    source_uris: Mapping[str, str] | None = None,
    self_managed: SelfManaged | bool = True,
    max_entries: int = MAX_ENTRIES,
    upload: Upload | None = None,
) -> dict[str, Any]:
    """Return a CreateTrainingJob request with the settings in its ``Environment``.

    Nothing else is added, except an input channel for settings that are too large, if `upload` is given, a
    ``CheckpointConfig`` for jobs that need and do not have one, such as those with network isolation, and the tag of
    ``SelfManaged(tag=True)``.

    The result needs no part of the Debugger service, so accounts without access to it can send it. Equal settings
    result in equal requests. The argument is not modified.

    Example:
        >>> request = {"TrainingJobName": "digits-1", "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"}}
        >>> sorted(self_managed_request(request)["Environment"])
        ['SAGEMAKER_DEBUG_EXT_JOB_0', 'USE_SMDEBUG']

    Args:
        request: The request without Debugger members.
        debugger_hook_config: See `debugger_request`.
        rules: Rules on tensors, and profiler rules, in any order.
        tensorboard_output_config: See `debugger_request`.
        profiler_config: See `debugger_request`. Without any profiler setting, the job is not profiled.
        disable_profiler: See `debugger_request`.
        source_uris: See `debugger_request`.
        self_managed: How the job is watched; True means ``SelfManaged()``.
        max_entries: Maximum number of environment variables; tuning jobs allow `MAX_TUNING_ENTRIES`.
        upload: Writes the file of the channel, once everything is checked; None refuses settings that are too large.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        RequestValidationError: The request has Debugger members or too many environment variables, the settings
            conflict, or they are too large.
    """
    options = _to_options(self_managed)
    problems = Problems()
    present = [name for name in DEBUGGER_MEMBERS if name in request]
    if present:
        problems.add(
            present[0], "must be left out of a self-managed job, because tensors would be saved twice; pass it here"
        )
    own = dict(request.get("Environment") or {})
    taken = sorted(filter(is_job_spec_variable, own))
    if taken:
        problems.add(f"Environment.{taken[0]}", "is reserved for the settings of self-managed jobs; rename it")
    carried, checkpoints = _Carried({}), None
    with problems.below(""):
        options = options_for(request, options)
        spec = with_folder(
            build_job_spec(
                output_path=(request.get("OutputDataConfig") or {}).get("S3OutputPath"),
                debugger_hook_config=debugger_hook_config,
                rules=rules,
                tensorboard_output_config=tensorboard_output_config,
                profiler_config=profiler_config,
                disable_profiler=disable_profiler,
                source_uris=source_uris,
                self_managed=options,
            ),
            request,
        )
        checkpoints = added_checkpoints(spec, request)
        carried = _carry(spec, options, can_upload=upload is not None)
    environment = {**own, **{name: value for name, value in carried.variables.items() if name not in own}}
    _check_environment(environment, problems, max_entries)
    changed = {**request, "Environment": environment}
    if checkpoints is not None:
        changed["CheckpointConfig"] = checkpoints
        _check_location("CheckpointConfig.S3Uri", checkpoints["S3Uri"], problems)
    if options.tag:
        changed["Tags"] = tags_of(request)
        num_tags = len(changed["Tags"])
        if num_tags > MAX_TAGS:
            problems.add("Tags", f"must have at most {MAX_TAGS} items, one of them {TAG['Key']!r} (got {num_tags})")
    if carried.location is not None:
        _check_channels(request, problems)
        _check_location("InputDataConfig", f"{carried.location}/", problems)
        changed["InputDataConfig"] = [*(request.get("InputDataConfig") or ()), channel_input(carried.location)]
    problems.raise_if_any()
    if upload is not None and carried.location is not None:
        upload(carried.location, carried.text)
        _LOG.info("the settings of the job are in the input channel %s, at %s", CHANNEL_NAME, carried.location)
    return changed


@attrs.frozen
class _Carried:
    """What carries a job spec: the variables, and the location and text of its channel if it has one."""

    variables: Mapping[str, str]
    location: str | None = None
    text: bytes = b""


def _carry(spec: JobSpec, options: SelfManaged, *, can_upload: bool) -> _Carried:
    """Return what carries a spec.

    Raises:
        RequestValidationError: It needs a channel that nobody uploads.
    """
    problems = Problems()
    others = {SWITCH_VARIABLE: "0"} | ({} if options.kms_key_id is None else {KMS_VARIABLE: options.kms_key_id})
    if options.config == "environment":
        try:
            return _Carried({**encode_job_spec(spec), **others})
        except JobSpecError as too_large:
            if not can_upload:
                problems.add("Environment", str(too_large))
    elif not can_upload:
        problems.add(
            "InputDataConfig",
            "a channel with the settings must be uploaded: submit with attach_debugger, or give upload",
        )
    problems.raise_if_any()
    text = spec.to_json().encode()
    variables = {f"{VARIABLE_PREFIX}0": channel_header(text), **others}
    return _Carried(variables, channel_location(spec.hook["S3OutputPath"], text), text)


def _check_channels(request: Mapping[str, Any], problems: Problems) -> None:
    """Add a problem for each reason that a request cannot have the channel."""
    channels = request.get("InputDataConfig") or ()
    if any(channel.get("ChannelName") == CHANNEL_NAME for channel in channels):
        problems.add("InputDataConfig", f"must have no channel {CHANNEL_NAME!r}, which holds the settings; rename it")
    if len(channels) >= MAX_CHANNELS:
        problems.add(
            "InputDataConfig",
            f"must have at most {MAX_CHANNELS} channels, one of them for the settings, which are too large for "
            f"environment variables (got {len(channels)} others)",
        )
    if (request.get("AlgorithmSpecification") or {}).get("AlgorithmName"):
        problems.add("AlgorithmSpecification", "must name an image, because algorithms refuse unknown channels")


def _check_location(member: str, location: str, problems: Problems) -> None:
    """Add a problem if a location that was made of the S3 path of the hook is too long."""
    if len(location) > MAX_LOCATION_LENGTH:
        problems.add(
            member,
            f"must have at most {MAX_LOCATION_LENGTH} characters (got {len(location)}); choose a shorter S3 path for "
            "the hook",
        )


def _check_environment(environment: Mapping[str, Any], problems: Problems, limit: int) -> None:
    """Add a problem for each limit of ``Environment`` that is exceeded."""
    if len(environment) > limit:
        count = len(environment) - sum(map(is_job_spec_variable, environment))
        problems.add(
            "Environment",
            f"must have at most {limit} entries (got {len(environment)}, of which {count} are not those of the "
            "job spec); pass some of them as hyperparameters",
        )
    for name, value in environment.items():
        if _NAME.fullmatch(name) is None:
            problems.add(
                "Environment",
                f"names must have at most 512 letters, digits and _, no digit first (got {len(name)} characters, "
                f"{name[:60]!r})",
            )
        if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
            problems.add(f"Environment.{name}", f"must have at most {MAX_VALUE_LENGTH} characters (got {len(value)})")


def _to_options(self_managed: object) -> SelfManaged:
    if self_managed is True:
        return SelfManaged()
    if isinstance(self_managed, SelfManaged):
        return self_managed
    raise SMDebugTypeError(f"self_managed must be True or a SelfManaged (got {self_managed!r})")
