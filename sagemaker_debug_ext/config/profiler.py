"""Configuration of a job's profiler: `ProfilerConfig`, and the framework metrics of old containers.

The service collects framework metrics only for TensorFlow before 2.11 and PyTorch before 2.0. It collects system
metrics for every job whose profiler is on.
"""

from __future__ import annotations

import enum
import re
import warnings
from types import NoneType
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.config._fields import (
    Number,
    Text,
    is_boolean,
    is_instance,
    is_local_path,
    is_pipeline_variable,
    is_positive_number,
    is_s3_path,
    is_whole_number,
    present,
)
from sagemaker_debug_ext.config.rules import PROCESSING_INSTANCE_TYPE, PROCESSING_VOLUME_SIZE_IN_GB
from sagemaker_debug_ext.errors import (
    DebugExtWarning,
    ProfilingValueError,
    SMDebugValueError,
    profiling_errors,
)

SYSTEM_MONITOR_INTERVALS_MILLIS: Final = (100, 200, 500, 1000, 5000, 60000)
"""The intervals between system metrics that the service supports."""

_END_OF_YEAR_9999: Final = 253_402_300_799


class PythonProfiler(enum.Enum):
    """The Python profilers that a container can run."""

    CPROFILE = "cprofile"
    PYINSTRUMENT = "pyinstrument"


class cProfileTimer(enum.Enum):  # noqa: N801  # the SDK's name
    """The time that cProfile measures. DEFAULT measures each kind of time once, in turn."""

    TOTAL_TIME = "total_time"
    CPU_TIME = "cpu_time"
    OFF_CPU_TIME = "off_cpu_time"
    DEFAULT = "default"


class ErrorMessages(enum.Enum):
    """A part of the message for each refused setting of the framework metrics, to be found with `re.search`."""

    INVALID_LOCAL_PATH = "local_path must"
    INVALID_FILE_MAX_SIZE = "file_max_size must"
    INVALID_FILE_CLOSE_INTERVAL = "file_close_interval must"
    INVALID_FILE_OPEN_FAIL_THRESHOLD = "file_open_fail_threshold must"
    INVALID_PROFILE_DEFAULT_STEPS = "profile_default_steps must"
    INVALID_START_STEP = "start_step must"
    INVALID_NUM_STEPS = "num_steps must"
    INVALID_START_UNIX_TIME = "start_unix_time must"
    INVALID_DURATION = "duration must"
    FOUND_BOTH_STEP_AND_TIME_FIELDS = "must have one range"
    INVALID_METRICS_REGEX = "metrics_regex must"
    INVALID_PYTHON_PROFILER = "PythonProfiler must"
    INVALID_CPROFILE_TIMER = "cProfileTimer must"


def _raise_assertions(kind: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:  # noqa: ARG001
    """Make the validators of a class raise errors that `except AssertionError` catches, as it does with the SDK."""
    return [
        field.evolve(validator=profiling_errors()(field.validator)) if field.validator else field for field in fields
    ]


def _is_unix_time(instance: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
    is_whole_number(0)(instance, attribute, value)
    if isinstance(value, int) and value > _END_OF_YEAR_9999:
        raise SMDebugValueError(
            f"{type(instance).__name__}.{attribute.name} must be in seconds since 1970, up to the year 9999 "
            f"(got {value!r})"
        )


def _check_one_range(config: MetricsConfigBase | FrameworkProfile, profile_default_steps: bool) -> None:
    steps = (config.start_step, config.num_steps)
    time = (config.start_unix_time, config.duration)
    if sum([profile_default_steps, steps != (None, None), time != (None, None)]) > 1:
        raise ProfilingValueError(
            f"{type(config).__name__} must have one range: steps, time, or profile_default_steps "
            f"(got start_step, num_steps = {steps}; start_unix_time, duration = {time}; "
            f"profile_default_steps = {profile_default_steps})"
        )


@attrs.frozen
class StepRange:
    """A range of steps.

    Args:
        start_step: First step.
        num_steps: Number of steps.
    """

    start_step: int
    num_steps: int

    def to_json(self) -> dict[str, int]:
        """Return the range in the names that the container reads."""
        return {"StartStep": self.start_step, "NumSteps": self.num_steps}


@attrs.frozen
class TimeRange:
    """A range of time.

    Args:
        start_unix_time: Start, in seconds since 1970; None for the start of the job.
        duration: Duration in seconds; None for no end.
    """

    start_unix_time: int | None = None
    duration: float | None = None

    def to_json(self) -> dict[str, int | float]:
        """Return the range under the names that the container reads, without members that are None."""
        fields = {"StartTimeInSecSinceEpoch": self.start_unix_time, "Duration": self.duration}
        return {name: value for name, value in fields.items() if value is not None}


def _literal(fields: dict[str, int | float | str]) -> str:
    """Return a Python literal, which the container evaluates; its trailing comma is not valid JSON."""
    return "{" + "".join(f'"{name}": {_quoted(value)}, ' for name, value in fields.items()) + "}"


def _quoted(value: float | str) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@attrs.frozen(field_transformer=_raise_assertions)
class MetricsConfigBase:
    """Steps or time range for one kind of framework metrics. Use one of the subclasses.

    A range is given by steps or by time, not by both. Each subclass has a default range.

    Args:
        start_step: First step; 0 when only `num_steps` is given.
        num_steps: Number of steps; 1 when only `start_step` is given.
        start_unix_time: Start time, in seconds since 1970.
        duration: Duration in seconds.
        profile_default_steps: Use the default range; excludes all other arguments.

    Raises:
        ProfilingTypeError: A number has the wrong type.
        ProfilingValueError: A number is out of range, or two ranges are given.
    """

    default_range: ClassVar[tuple[int, int]]

    start_step: int | None = attrs.field(default=None, validator=is_whole_number(0))
    num_steps: int | None = attrs.field(default=None, validator=is_whole_number(1))
    start_unix_time: int | None = attrs.field(default=None, validator=_is_unix_time)
    duration: float | None = attrs.field(default=None, validator=is_positive_number)
    profile_default_steps: bool = attrs.field(default=False, validator=is_instance(bool))

    def __attrs_post_init__(self) -> None:
        _check_one_range(self, self.profile_default_steps)

    @property
    def name(self) -> str:
        """Name of the kind of metrics, as the container reads it."""
        return type(self).__name__

    @property
    def range(self) -> StepRange | TimeRange:
        """The range to profile: the given one, or the default range of the class."""
        if self.start_unix_time is not None or self.duration is not None:
            return TimeRange(self.start_unix_time, self.duration)
        if self.start_step is None and self.num_steps is None:
            return StepRange(*self.default_range)
        return StepRange(self.start_step or 0, self.num_steps or 1)

    def to_json_string(self) -> str:
        """Return the configuration in the form that the container reads: a Python literal."""
        return _literal({**self.range.to_json(), **self._settings()})

    def _settings(self) -> dict[str, str]:
        """Return the settings beside the range."""
        return {}


@attrs.frozen
class DetailedProfilingConfig(MetricsConfigBase):
    """Operators on CPU and GPU; step 5 by default."""

    default_range = (5, 1)


@attrs.frozen
class HorovodProfilingConfig(MetricsConfigBase):
    """Horovod's communication; step 13 by default."""

    default_range = (13, 1)


@attrs.frozen
class SMDataParallelProfilingConfig(MetricsConfigBase):
    """SageMaker's data-parallel communication; step 15 by default."""

    default_range = (15, 1)


def _is_pattern(instance: object, attribute: attrs.Attribute[Any], value: str) -> None:
    try:
        re.compile(value)
    except (re.error, TypeError) as error:
        raise ProfilingValueError(
            f"{type(instance).__name__}.{attribute.name} must be a regular expression (got {value!r}: {error})"
        ) from error


@attrs.frozen
class DataloaderProfilingConfig(MetricsConfigBase):
    """Data loaders; step 7 by default.

    Args:
        metrics_regex: Regular expression that selects the metrics.
    """

    default_range = (7, 1)

    metrics_regex: str = attrs.field(default=".*", validator=_is_pattern)

    def _settings(self) -> dict[str, str]:
        return {"MetricsRegex": self.metrics_regex}


def _refused(kind: type[enum.Enum], value: object) -> ProfilingValueError:
    allowed = ", ".join(repr(member.value) for member in kind)
    return ProfilingValueError(f"{kind.__name__} must be one of {allowed} (got {value!r})")


def _to_python_profiler(value: PythonProfiler | str) -> PythonProfiler:
    try:
        return PythonProfiler(value)
    except ValueError as error:
        raise _refused(PythonProfiler, value) from error


def _to_timer(value: cProfileTimer | str | None) -> cProfileTimer | None:
    try:
        return None if value is None else cProfileTimer(value)
    except ValueError as error:
        raise _refused(cProfileTimer, value) from error


@attrs.frozen
class PythonProfilingConfig(MetricsConfigBase):
    """Python functions; three steps from step 9 by default.

    Args:
        python_profiler: The profiler to use.
        cprofile_timer: The time that cProfile measures: the total time unless given. The attribute is `DEFAULT` with
            `profile_default_steps`, and None with Pyinstrument, which has no choice.
    """

    default_range = (9, 3)

    python_profiler: PythonProfiler = attrs.field(default=PythonProfiler.CPROFILE, converter=_to_python_profiler)
    cprofile_timer: cProfileTimer | None = attrs.field(default=None, converter=_to_timer)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        object.__setattr__(self, "cprofile_timer", self._choose_timer())

    def _choose_timer(self) -> cProfileTimer | None:
        if self.python_profiler is PythonProfiler.PYINSTRUMENT:
            return None
        return cProfileTimer.DEFAULT if self.profile_default_steps else self.cprofile_timer or cProfileTimer.TOTAL_TIME

    def _settings(self) -> dict[str, str]:
        timer = {"cProfileTimer": self.cprofile_timer.value} if self.cprofile_timer else {}
        return {"ProfilerName": self.python_profiler.value, **timer}


METRICS_CONFIGS: Final = {
    "detailed_profiling_config": DetailedProfilingConfig,
    "dataloader_profiling_config": DataloaderProfilingConfig,
    "python_profiling_config": PythonProfilingConfig,
    "horovod_profiling_config": HorovodProfilingConfig,
    "smdataparallel_profiling_config": SMDataParallelProfilingConfig,
}
"""Field of `FrameworkProfile` → class."""

ALL_METRIC_CONFIGS: Final = list(METRICS_CONFIGS.values())
"""The classes of the five kinds of framework metrics."""


@attrs.frozen(field_transformer=_raise_assertions)
class FrameworkProfile:
    """Framework metrics that an old container collects.

    If any of the five metrics configurations is given, only the given ones are collected, and the range here is
    ignored. Otherwise all five are collected, over the range given here or each over its default range.

    Args:
        local_path: Folder for the events inside the container.
        file_max_size: Size in bytes at which an event file is closed.
        file_close_interval: Seconds after which it is closed.
        file_open_fail_threshold: Failed attempts to open a file after which the writer gives up.
        detailed_profiling_config: Operators on CPU and GPU.
        dataloader_profiling_config: Data loaders.
        python_profiling_config: Python functions.
        horovod_profiling_config: Horovod's communication.
        smdataparallel_profiling_config: SageMaker's data-parallel communication.
        start_step: See `MetricsConfigBase`.
        num_steps: See `MetricsConfigBase`.
        start_unix_time: See `MetricsConfigBase`.
        duration: See `MetricsConfigBase`.

    Raises:
        ProfilingTypeError: An argument has the wrong type.
        ProfilingValueError: A number is out of range, or both kinds of range are given.
    """

    local_path: str = attrs.field(default="/opt/ml/output/profiler", validator=is_local_path)
    file_max_size: int = attrs.field(default=10_485_760, validator=is_whole_number(1))
    file_close_interval: float = attrs.field(default=60, validator=is_positive_number)
    file_open_fail_threshold: int = attrs.field(default=50, validator=is_whole_number(1))
    detailed_profiling_config: DetailedProfilingConfig | None = attrs.field(
        default=None, validator=is_instance(DetailedProfilingConfig, NoneType)
    )
    dataloader_profiling_config: DataloaderProfilingConfig | None = attrs.field(
        default=None, validator=is_instance(DataloaderProfilingConfig, NoneType)
    )
    python_profiling_config: PythonProfilingConfig | None = attrs.field(
        default=None, validator=is_instance(PythonProfilingConfig, NoneType)
    )
    horovod_profiling_config: HorovodProfilingConfig | None = attrs.field(
        default=None, validator=is_instance(HorovodProfilingConfig, NoneType)
    )
    smdataparallel_profiling_config: SMDataParallelProfilingConfig | None = attrs.field(
        default=None, validator=is_instance(SMDataParallelProfilingConfig, NoneType)
    )
    start_step: int | None = attrs.field(default=None, validator=is_whole_number(0))
    num_steps: int | None = attrs.field(default=None, validator=is_whole_number(1))
    start_unix_time: int | None = attrs.field(default=None, validator=_is_unix_time)
    duration: float | None = attrs.field(default=None, validator=is_positive_number)

    def __attrs_post_init__(self) -> None:
        _check_one_range(self, profile_default_steps=False)

    @property
    def metrics_configs(self) -> tuple[MetricsConfigBase, ...]:
        """The configurations of the metrics that are collected."""
        chosen = tuple(getattr(self, field) for field in METRICS_CONFIGS)
        if any(config is not None for config in chosen):
            return tuple(config for config in chosen if config is not None)
        given = (self.start_step, self.num_steps, self.start_unix_time, self.duration)
        default = given == (None, None, None, None)
        return tuple(kind(*given, profile_default_steps=default) for kind in METRICS_CONFIGS.values())

    @property
    def profiling_parameters(self) -> dict[str, str]:
        """The framework metrics in the form that the container reads."""
        return {
            "LocalPath": self.local_path,
            "RotateMaxFileSizeInBytes": str(self.file_max_size),
            "RotateFileCloseIntervalInSeconds": str(self.file_close_interval),
            "FileOpenFailThreshold": str(self.file_open_fail_threshold),
            **{config.name: config.to_json_string() for config in self.metrics_configs},
        }


@attrs.frozen
class Profiler:
    """Turns on SageMaker Profiler, the deep profiler, which the service supports until June 2027.

    Args:
        cpu_profiling_duration: Seconds of CPU activity to record.
        file_rotation_interval: Seconds after which a new file is started.
    """

    cpu_profiling_duration: int = attrs.field(default=3600, converter=int, validator=is_whole_number(1))
    file_rotation_interval: int = attrs.field(default=600, converter=int, validator=is_whole_number(1))

    @property
    def profiling_parameters(self) -> dict[str, str]:
        """The settings in the form that the container reads."""
        return {
            "CPUProfilingDuration": str(self.cpu_profiling_duration),
            "SMPFileRotationSecs": str(self.file_rotation_interval),
        }

    @property
    def instanceType(self) -> str:  # noqa: N802  # the SDK's name
        """Instance type of the job that processes the recordings."""
        return PROCESSING_INSTANCE_TYPE

    @property
    def volumeSizeInGB(self) -> int:  # noqa: N802  # the SDK's name
        """Volume size of that instance."""
        return PROCESSING_VOLUME_SIZE_IN_GB


@attrs.frozen
class ProfilerConfig:
    """Metrics that the profiler collects, how often, and where they are stored.

    Args:
        s3_output_path: S3 location for the metrics; the service appends ``<job name>/profiler-output``. The output path
            of the job by default.
        system_monitor_interval_millis: Milliseconds between system metrics: 100, 200, 500, 1000, 5000 or 60000; the
            service's default is 500.
        framework_profile_params: Framework metrics, for old containers only.
        profile_params: Settings of SageMaker Profiler, which is used instead.
        disable_profiler: Collect nothing, not even system metrics.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: The interval is not one of the above, both kinds of deep profiling are requested, or any
            setting is given together with `disable_profiler`.
    """

    s3_output_path: Text | None = attrs.field(default=None, validator=is_s3_path)
    system_monitor_interval_millis: Number | None = attrs.field(default=None, validator=is_whole_number(1))
    framework_profile_params: FrameworkProfile | None = attrs.field(
        default=None, validator=is_instance(FrameworkProfile, NoneType)
    )
    profile_params: Profiler | None = attrs.field(default=None, validator=is_instance(Profiler, NoneType))
    disable_profiler: bool | Text = attrs.field(default=False, validator=is_boolean)

    def __attrs_post_init__(self) -> None:
        interval = self.system_monitor_interval_millis
        if (
            interval is not None
            and not is_pipeline_variable(interval)
            and interval not in SYSTEM_MONITOR_INTERVALS_MILLIS
        ):
            allowed = ", ".join(map(str, SYSTEM_MONITOR_INTERVALS_MILLIS))
            raise SMDebugValueError(
                f"ProfilerConfig.system_monitor_interval_millis must be one of {allowed} (got {interval!r})"
            )
        if self.framework_profile_params and self.profile_params:
            raise SMDebugValueError("ProfilerConfig must have framework_profile_params or profile_params, not both")
        if self.disable_profiler is True and (interval or self.framework_profile_params or self.profile_params):
            raise SMDebugValueError("ProfilerConfig must have no other setting together with disable_profiler=True")
        if self.framework_profile_params:
            warnings.warn(
                "framework metrics are collected for TensorFlow before 2.11 and PyTorch before 2.0 only",
                DebugExtWarning,
                stacklevel=3,
            )

    def to_request_dict(self) -> dict[str, Any]:
        """Return the member ``ProfilerConfig``; unset settings are left out."""
        params = self.framework_profile_params or self.profile_params
        return present(
            {
                # The service refuses a path without the profiler.
                "S3OutputPath": None if self.disable_profiler is True else self.s3_output_path,
                "DisableProfiler": self.disable_profiler,
                "ProfilingIntervalInMilliseconds": self.system_monitor_interval_millis,
                "ProfilingParameters": params and params.profiling_parameters,
            }
        )

    _to_request_dict = to_request_dict  # the SDK's name, which published code calls
