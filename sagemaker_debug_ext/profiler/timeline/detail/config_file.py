"""Reads ``profilerconfig.json``, which may change while a job trains (profiler format, section 1.5).

Values are parsed as literals, never evaluated. Upper and lower case of names makes no difference; values keep theirs. A
part that cannot be read is switched off, and says why.
"""

from __future__ import annotations

import ast
import json
import math
import os
from collections.abc import Mapping
from typing import Any, Final

import attrs

from sagemaker_debug_ext.profiler.format.config_file import is_true
from sagemaker_debug_ext.profiler.profiler_constants import BASE_FOLDER_DEFAULT, CONFIG_PATH_DEFAULT
from sagemaker_debug_ext.profiler.timeline.detail.ranges import ProfileRange
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileSettings

CONFIG_VARIABLE: Final = "SMPROFILER_CONFIG_PATH"
_PROFILERS: Final = ("cprofile", "pyinstrument")
_TIMERS: Final = {
    "total_time": "total_time",
    "cpu_time": "cpu_time",
    "cpu": "cpu_time",
    "off_cpu_time": "off_cpu_time",
    "off_cpu": "off_cpu_time",
    "default": "default",
}
"""Timer → its name; two names are those of the guide."""


@attrs.frozen(kw_only=True)
class PythonProfile:
    """How Python functions are profiled.

    Args:
        limits: Which steps.
        timer: ``total_time``, ``cpu_time``, ``off_cpu_time``, or ``default`` for the three in turn.
    """

    limits: ProfileRange
    timer: str = "total_time"


@attrs.frozen(kw_only=True)
class DetailSettings:
    """What a configuration file asks for.

    Args:
        is_enabled: Whether steps are timed, as they are with any ``ProfilingParameters`` of a profiler that is not
            disabled.
        folder: Where profiler data goes on this machine.
        detailed: Which steps to profile by the framework's profiler; None for none.
        python: How to profile Python functions; None for not at all.
        files: When trace files are closed.
        problems: What could not be read, and is switched off.
    """

    is_enabled: bool = False
    folder: str = BASE_FOLDER_DEFAULT
    detailed: ProfileRange | None = None
    python: PythonProfile | None = None
    files: TraceFileSettings = attrs.field(factory=TraceFileSettings)
    problems: tuple[str, ...] = ()


def config_path(environment: Mapping[str, str]) -> str:
    """Return where the configuration file lies."""
    return environment.get(CONFIG_VARIABLE) or CONFIG_PATH_DEFAULT


def read_settings(path: str) -> DetailSettings:
    """Return the settings of a file; those of a disabled profiler if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_settings(file.read())
    except (OSError, UnicodeDecodeError):
        return DetailSettings()


class ProfilerConfigParser:
    """The settings of the file that the environment names, as scripts for Debugger read them; hooks read it themselves.

    Args:
        framework: Has no effect: the settings are the same for all.

    Attributes:
        config: The settings; None if the file asks for no profiling.
    """

    def __init__(self, framework: object = None) -> None:
        self.framework = framework
        self.load_config()

    @property
    def profiling_enabled(self) -> bool:
        """Whether the file asks for profiling."""
        return self.config is not None

    def load_config(self) -> None:
        """Read the file again."""
        settings = read_settings(config_path(os.environ))
        self.config = settings if settings.is_enabled else None

    def is_python_profiling_enabled(self) -> bool:
        """Return whether Python functions are profiled."""
        return self.config is not None and self.config.python is not None


def parse_settings(text: str) -> DetailSettings:
    """Return the settings of the text of a file."""
    try:
        content = _lowered(json.loads(text))
    except ValueError:
        return DetailSettings()
    parameters = _lowered(content.get("profilingparameters"))
    if not parameters or is_true(content.get("disableprofiler")):
        return DetailSettings()
    problems: list[str] = []
    return DetailSettings(
        is_enabled=True,
        folder=str(parameters.get("localpath") or content.get("localpath") or BASE_FOLDER_DEFAULT),
        detailed=_range(parameters, "DetailedProfilingConfig", problems),
        python=_python(parameters, problems),
        files=_files(parameters, problems),
        problems=tuple(problems),
    )


def parse_range(text: object) -> ProfileRange | None:
    """Return the range of a part of the file; None if the part is empty.

    Raises:
        ValueError: The text is no dictionary, or a value has no meaning.
    """
    fields = _fields(text)
    if not fields:
        return None
    steps = [_number(fields, name) for name in ("startstep", "numsteps")]
    start = _number(fields, "starttimeinsecsinceepoch")
    duration = _number(fields, "durationinseconds", "duration")
    if any(value is not None for value in steps) and (start is not None or duration is not None):
        raise ValueError("a range must be one of steps or one of time, and both are given")
    first, count = (None if value is None else int(value) for value in steps)
    return ProfileRange(start_step=first, num_steps=count, start_time=start, duration=duration)


def _range(parameters: Mapping[str, Any], name: str, problems: list[str]) -> ProfileRange | None:
    try:
        return parse_range(parameters.get(name.lower()))
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return None


def _python(parameters: Mapping[str, Any], problems: list[str]) -> PythonProfile | None:
    name = "PythonProfilingConfig"
    text = parameters.get(name.lower())
    limits = _range(parameters, name, problems)
    if limits is None:
        return None
    fields = _fields(text)
    profiler = str(fields.get("profilername", "cprofile")).lower()
    timer = str(fields.get("cprofiletimer", "total_time")).lower()
    if profiler not in _PROFILERS:
        problems.append(f"{name}: ProfilerName must be one of {', '.join(_PROFILERS)} (got {profiler!r})")
        return None
    if timer not in _TIMERS:
        problems.append(f"{name}: cProfileTimer must be one of {', '.join(_TIMERS)} (got {timer!r})")
        return None
    if profiler != "cprofile":
        problems.append(f"{name}: functions are profiled by cProfile instead of {profiler}")
    return PythonProfile(limits=limits, timer=_TIMERS[timer])


def _files(parameters: Mapping[str, Any], problems: list[str]) -> TraceFileSettings:
    usual = TraceFileSettings()
    try:
        seconds = _number(parameters, "rotatefilecloseintervalinseconds")
        size = _number(parameters, "rotatemaxfilesizeinbytes")
        failures = _number(parameters, "fileopenfailthreshold")
    except ValueError as error:
        problems.append(str(error))
        return usual
    return TraceFileSettings(
        close_seconds=usual.close_seconds if seconds is None else seconds,
        max_bytes=usual.max_bytes if size is None else int(size),
        max_failures=usual.max_failures if failures is None else int(failures),
    )


def _fields(text: object) -> dict[str, Any]:
    """Return the members of a dictionary that is given as the text of a literal, or of JSON.

    Raises:
        ValueError: It is no dictionary.
    """
    if isinstance(text, str) and text.strip():
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            try:
                value = json.loads(text)
            except ValueError:
                raise ValueError(f"it must be a dictionary (got {text[:100]!r})") from None
    else:
        value = text or {}
    if not isinstance(value, Mapping):
        raise ValueError(f"it must be a dictionary (got {str(text)[:100]!r})")  # noqa: TRY004 - of a text
    return _lowered(value)


def _number(fields: Mapping[str, Any], *names: str) -> float | None:
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not (0 <= number < math.inf):
            raise ValueError(f"{name} must be a number of at least 0 (got {value!r})")
        return number
    return None


def _lowered(value: object) -> dict[str, Any]:
    return {str(name).lower(): item for name, item in value.items()} if isinstance(value, Mapping) else {}
