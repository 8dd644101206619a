"""Self-managed jobs: the argument ``self_managed``, requests, and descriptions in the service's form.

The settings of a self-managed job are in its ``Environment``, and the statuses of its rules in ``status.json`` on S3.
`with_rule_statuses` merges both into a DescribeTrainingJob response, so that all code that reads such a response works
for both kinds of jobs.

Few jobs are self-managed, so the modules for them are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.sdk._settings import DebuggerSettings

if TYPE_CHECKING:
    import datetime as dt

    from sagemaker_debug_ext.config.job_spec import JobSpec
    from sagemaker_debug_ext.config.self_managed import SelfManaged
    from sagemaker_debug_ext.requests.self_managed import Upload

UNKNOWN_STATUS: Final = "Unknown"
"""Status of a job of which nothing is known but what it has written."""

MODES: Final = ("service", "self-managed")
MODE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_MODE"
_default_mode: str | None = None

EVALUATOR_IMAGE: Final = "self-managed"
"""Shown as ``RuleEvaluatorImage``, because no image evaluates the rules."""


def set_default_mode(mode: str) -> str:
    """Set what ``self_managed=None`` means in estimators, trainers and attached clients of this process.

    It takes precedence over the environment variable ``SAGEMAKER_DEBUG_EXT_MODE``, which takes the same values. Nothing
    changes the mode of a job by itself, for example after an error of the service.

    Args:
        mode: ``service`` for the Debugger service, which is the default; ``self-managed`` for jobs without it.

    Returns:
        The previous mode; ``service`` if the environment variable is misspelt.

    Raises:
        SMDebugValueError: There is no such mode.
    """
    global _default_mode  # noqa: PLW0603 - the one switch of the process
    before = _default_mode or os.environ.get(MODE_VARIABLE)
    _default_mode = _check_mode(mode, "mode")
    return before if before in MODES else MODES[0]


def _mode() -> str:
    if _default_mode is not None:
        return _default_mode
    return _check_mode(os.environ.get(MODE_VARIABLE) or MODES[0], MODE_VARIABLE)


def _check_mode(mode: str, where: str) -> str:
    if mode not in MODES:
        raise SMDebugValueError(f"{where} must be {' or '.join(MODES)} (got {mode!r}){did_you_mean(mode, MODES)}")
    return mode


def to_self_managed(self_managed: Any) -> SelfManaged | None:
    """Return the options of an argument ``self_managed``: ``SelfManaged()`` for True, None for False.

    None means what `set_default_mode` says.

    Raises:
        SMDebugTypeError: The argument is neither a boolean nor a `SelfManaged`.
    """
    if self_managed is None:
        self_managed = _mode() == "self-managed"
    if self_managed is False:
        return None
    from sagemaker_debug_ext.config.self_managed import SelfManaged  # noqa: PLC0415

    if self_managed is not True and not isinstance(self_managed, SelfManaged):
        raise SMDebugTypeError(f"self_managed must be True, False or a SelfManaged (got {self_managed!r})")
    return SelfManaged() if self_managed is True else self_managed


def with_environment(
    request: Mapping[str, Any],
    settings: DebuggerSettings,
    options: SelfManaged | bool,
    source_uris: Mapping[str, str] | None,
    is_tuning: bool = False,
    upload: Upload | None = None,
) -> dict[str, Any]:
    """Return a request with the settings of a self-managed job in its ``Environment``.

    Args:
        request: A CreateTrainingJob request, or a definition of the jobs of a tuning job.
        settings: The user's settings.
        options: How the job is watched; True means ``SelfManaged()``.
        source_uris: Uploaded files with rule code.
        is_tuning: Whether the limits of tuning jobs apply.
        upload: Writes the file of a channel, for settings that are too large; None refuses them.

    Raises:
        SMDebugTypeError: A setting has the wrong type.
        RequestValidationError: The settings conflict, or need too much room.
    """
    import attrs  # noqa: PLC0415

    from sagemaker_debug_ext.requests import self_managed  # noqa: PLC0415

    if is_tuning and not isinstance(options, bool):
        options = attrs.evolve(options, tag=False)  # a definition of jobs has no tags
    return self_managed.self_managed_request(
        request,
        debugger_hook_config=settings.debugger_hook_config,
        rules=settings.rules,
        tensorboard_output_config=settings.tensorboard_output_config,
        profiler_config=settings.profiler_config,
        disable_profiler=settings.disable_profiler,
        source_uris=source_uris,
        self_managed=options,
        max_entries=self_managed.MAX_TUNING_ENTRIES if is_tuning else self_managed.MAX_ENTRIES,
        upload=upload,
    )


def upload_spec(location: str, content: bytes, client: Any = None) -> None:
    """Write the file of a channel to S3, unless it is there already.

    Args:
        location: S3 location of the channel, which differs for each content.
        content: The content of the file.
        client: The S3 client; one with the credentials of this environment by default.

    Raises:
        StorageError: S3 refuses it.
    """
    from sagemaker_debug_ext.config.job_channel import SPEC_FILE  # noqa: PLC0415
    from sagemaker_debug_ext.store.backends import open_backend  # noqa: PLC0415
    from sagemaker_debug_ext.store.backends.s3 import S3Options  # noqa: PLC0415

    open_backend(location, S3Options(client=client)).create(SPEC_FILE, content)


def with_rule_statuses(description: Mapping[str, Any], now: dt.datetime | None = None) -> dict[str, Any]:
    """Return a description with the Debugger members of a self-managed job; others are returned as they are.

    Reading the statuses takes one request to S3, and another one while rules are evaluated.

    Args:
        description: The DescribeTrainingJob response.
        now: The current time, with which the heartbeat of the watcher is compared; by default, the storage says how old
            the statuses are.

    Raises:
        JobSpecError: The environment of the job holds a damaged job spec.
        StorageError: The statuses cannot be read.
        SMDebugValueError: The file with the statuses is damaged.
    """
    spec = spec_of_job(description)
    if spec is None:
        return dict(description)
    return {**description, **_members(spec), **_statuses(spec, description, now)}


def description_of_state(location: str) -> dict[str, Any]:
    """Return a description made of what the watcher of a job has written, for jobs that SageMaker no longer describes.

    Args:
        location: The folder of the job: ``s3://bucket/prefix/job-name``, or a local folder.

    Raises:
        TrialNotFoundError: There is no such folder, or no watcher has written to it.
        StorageError: The folder cannot be read.
        JobSpecError: The settings are damaged.
    """
    import datetime as dt  # noqa: PLC0415

    spec = spec_of_state(location)
    name = job_name_of(location)
    known = {"TrainingJobName": name, "TrainingJobStatus": UNKNOWN_STATUS}
    output = {} if spec.output_path is None else {"OutputDataConfig": {"S3OutputPath": spec.output_path}}
    return {**known, **output, **_members(spec), **_statuses(spec, known, dt.datetime.now(dt.timezone.utc))}


def job_name_of(location: str) -> str:
    """Return the name of the job whose folder a location is."""
    return location.rstrip("/").rpartition("/")[2]


def spec_of_state(location: str) -> JobSpec:
    """Return the settings that the watcher of a job has written to the folder of the job.

    Raises:
        TrialNotFoundError: There is no such folder, or no watcher has written to it.
        StorageError: The folder cannot be read.
        JobSpecError: The settings are damaged.
    """
    from sagemaker_debug_ext.config.job_spec import DEFAULT_SHIP, SPEC_KEY, JobSpec  # noqa: PLC0415
    from sagemaker_debug_ext.errors import TrialNotFoundError  # noqa: PLC0415
    from sagemaker_debug_ext.store.backends import open_backend  # noqa: PLC0415

    state = f"{location.rstrip('/')}/self-managed"
    content = open_backend(state).read(SPEC_KEY)
    if content is None:
        raise TrialNotFoundError(location, f"a watched job has {state}/{SPEC_KEY}, which is missing")
    spec = JobSpec.from_json(bytes(content))
    if spec.ship == DEFAULT_SHIP:
        return spec
    return spec.moved_to(location.rstrip("/").rpartition("/")[0])  # a copy is read where it lies


def debugger_members(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a self-managed job as members of a description; none for other jobs.

    Args:
        job: A request or a description.

    Raises:
        JobSpecError: The environment of the job holds a damaged job spec.
    """
    spec = spec_of_job(job)
    return {} if spec is None else _members(spec)


def spec_of_job(job: Mapping[str, Any]) -> JobSpec | None:
    """Return the settings of a self-managed job; None for other jobs. Those in a channel take one request to S3.

    Args:
        job: A request or a description.

    Raises:
        JobSpecError: The environment of the job holds a damaged job spec, or the file of its channel is gone.
        StorageError: The file of its channel cannot be read.
    """
    if not job.get("Environment"):
        return None
    from sagemaker_debug_ext.watch.described import spec_of_description  # noqa: PLC0415

    return spec_of_description(job)


def _members(spec: JobSpec) -> dict[str, Any]:
    from sagemaker_debug_ext.config.job_spec import DEFAULT_SHIP  # noqa: PLC0415

    # All files of a job that does not write to S3 itself lie below one root.
    moved = {} if spec.ship == DEFAULT_SHIP else {"S3OutputPath": spec.root}
    own = {"RuleEvaluatorImage": EVALUATOR_IMAGE, **moved}
    members: dict[str, Any] = {"DebugHookConfig": {**spec.hook, **moved}}
    if spec.rules:
        members["DebugRuleConfigurations"] = [{**rule, **own} for rule in spec.rules]
    if spec.tensorboard is not None:
        members["TensorBoardOutputConfig"] = {**spec.tensorboard, **moved}
    if spec.profiler is not None:
        members["ProfilerConfig"] = {**spec.profiler, **moved}
    if spec.profiler_rules:
        members["ProfilerRuleConfigurations"] = [{**rule, **own} for rule in spec.profiler_rules]
    return members


def _statuses(spec: JobSpec, description: Mapping[str, Any], now: dt.datetime | None) -> dict[str, Any]:
    members = {
        "DebugRuleEvaluationStatuses": (spec.rules, False),
        "ProfilerRuleEvaluationStatuses": (spec.profiler_rules, True),
    }
    if not any(rules for rules, _ in members.values()):
        return {}
    import datetime as dt  # noqa: PLC0415

    from sagemaker_debug_ext.store.backends import open_backend  # noqa: PLC0415
    from sagemaker_debug_ext.watch.status import STATUS_KEY, WatchStatus, derive  # noqa: PLC0415

    state = open_backend(spec.state_location(description["TrainingJobName"]))
    status = WatchStatus.read(state)
    # Only a watcher that still works can be silent.
    is_open = now is None and status is not None and not status.is_final
    statuses = {
        member: derive(
            [rule["RuleConfigurationName"] for rule in rules],
            description["TrainingJobStatus"],
            status,
            now=now or dt.datetime.now(dt.timezone.utc),
            started_at=description.get("TrainingStartTime"),
            ended_at=description.get("TrainingEndTime"),
            of_profiler=of_profiler,
            age_seconds=state.age_seconds(STATUS_KEY) if is_open else None,
        )
        for member, (rules, of_profiler) in members.items()
    }
    return {member: found for member, found in statuses.items() if found}
