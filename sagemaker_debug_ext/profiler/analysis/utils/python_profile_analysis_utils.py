"""Spans of Python profiles, and their statistics."""

from __future__ import annotations

import enum
import os
import pstats
import re
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.python_profile_utils import PythonProfileModes, StepPhase, str_to_python_profile_mode

if TYPE_CHECKING:
    import pandas as pd

_POINT: Final = re.compile(r"(?P<mode>[a-z]+)-(?P<step>\d+|\*)-(?P<phase>[a-z]+)-(?P<time>\d+(?:\.\d+)?)")
_PHASES: Final = list(StepPhase)


class Metrics(enum.Enum):
    """The column that functions are sorted by."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"


@attrs.frozen
class ProfilePoint:
    """Start or end of a span: ``<mode>-<step>-<phase>-<time>``.

    Attributes:
        mode: Activity of the script.
        step: Step of the mode; -1 before step 0, infinity after the hook was closed.
        phase: The point within the step.
        time_us: Microseconds since 1970.
    """

    mode: PythonProfileModes
    step: float
    phase: StepPhase
    time_us: float

    @classmethod
    def parse(cls, text: str) -> ProfilePoint:
        """Return the point that a text names.

        Raises:
            SMDebugValueError: The text has another form.
        """
        found = _POINT.fullmatch(text) or _POINT.fullmatch("unknown-0-unknown-0")
        assert found is not None
        try:
            mode = str_to_python_profile_mode(found["mode"])
            phase = StepPhase(found["phase"])
        except (KeyError, ValueError) as error:
            raise SMDebugValueError(
                f"a Python profile must be named <mode>-<step>-<phase>-<time>, twice (got {text!r})"
            ) from error
        if found["step"] != "*":
            step: float = int(found["step"])
        else:
            step = -1 if mode is PythonProfileModes.PRE_STEP_ZERO else float("inf")
        return cls(mode, step, phase, float(found["time"]))

    @property
    def position(self) -> tuple[float, int]:
        """Step and number of the phase, which sort in order of time."""
        return self.step, _PHASES.index(self.phase)


class StepPythonProfileStats:
    """A span of time over which Python functions were profiled.

    Args:
        framework: The framework that trains, such as ``pytorch``.
        profiler_name: ``cprofile`` or ``pyinstrument``.
        node_id: The worker, such as ``41-algo-1``.
        stats_dir: Name of the span's folder: both points, joined by an underscore.
        stats_path: Local path of the statistics.

    Attributes:
        start: Where the span begins. Its parts are also in ``start_mode``, ``start_step``, ``start_phase`` and
            ``start_time_since_epoch_in_micros``.
        end: Where it ends; likewise.

    Raises:
        SMDebugValueError: `stats_dir` has another form.
    """

    def __init__(self, framework: str, profiler_name: str, node_id: str, stats_dir: str, stats_path: str) -> None:
        self.framework = framework
        self.profiler_name = profiler_name
        self.node_id = node_id
        self.stats_path = stats_path
        first, _, second = stats_dir.partition("_")
        self.start, self.end = ProfilePoint.parse(first), ProfilePoint.parse(second)
        self.start_mode, self.end_mode = self.start.mode, self.end.mode
        self.start_step, self.end_step = self.start.step, self.end.step
        self.start_phase, self.end_phase = self.start.phase, self.end.phase
        self.start_time_since_epoch_in_micros = self.start.time_us
        self.end_time_since_epoch_in_micros = self.end.time_us

    def has_start_and_end_mode(self, start_mode: PythonProfileModes, end_mode: PythonProfileModes) -> bool:
        """Return whether the span begins and ends in these modes."""
        return (self.start.mode, self.end.mode) == (start_mode, end_mode)

    def in_time_interval(self, start_time_since_epoch_in_micros: float, end_time_since_epoch_in_micros: float) -> bool:
        """Return whether the span overlaps an interval."""
        return (
            self.start.time_us <= end_time_since_epoch_in_micros
            and self.end.time_us >= start_time_since_epoch_in_micros
        )

    def in_step_interval(self, start_step: int, end_step: int, start_phase: StepPhase, end_phase: StepPhase) -> bool:
        """Return whether the span lies between two points of the step count, both inclusive."""
        return self.start.position >= (start_step, _PHASES.index(start_phase)) and self.end.position <= (
            end_step,
            _PHASES.index(end_phase),
        )

    def has_pre_step_zero_profile_stats(self) -> bool:
        """Return whether the span begins with the hook, before step 0."""
        return self.start.phase is StepPhase.START

    def has_post_hook_close_profile_stats(self) -> bool:
        """Return whether the span ends with the process, after the hook was closed."""
        return self.end.phase is StepPhase.END

    def has_node_id(self, node_id: str) -> bool:
        """Return whether a worker recorded the span; any worker did for ``any``."""
        return node_id in ("any", self.node_id)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.as_row()!r})"

    def as_row(self) -> dict[str, Any]:
        """Return the span as a row of `PythonProfileAnalysis.list_profile_stats`."""
        row: dict[str, Any] = {
            "profiler_name": self.profiler_name,
            "framework": self.framework,
            "node_id": self.node_id,
        }
        for side, point in (("start", self.start), ("end", self.end)):
            row[f"{side}_mode"] = point.mode.name.replace("_", "").lower()
            row[f"{side}_step"] = point.step
            row[f"{side}_phase"] = point.phase
            row[f"{side}_time_since_epoch_in_micros"] = point.time_us
        return {**row, "stats_path": self.stats_path}


def _function_name(key: tuple[str, int, str]) -> str:
    name: str = pstats.func_std_string(key)  # type: ignore[attr-defined] # missing in the stubs
    return name


class cProfileFunctionStats:  # noqa: N801 - smdebug's name
    """Calls and times of one function.

    Args:
        key: File, line and name of the function, as `pstats` has them.
        value: Primitive calls, calls, time in the function, time with its callees, and callers.

    Attributes:
        function_name: ``file:line(function)``.
        prim_calls: Calls that were not recursive.
        total_calls: All calls.
        total_time: Seconds in the function itself.
        cumulative_time: Seconds in the function and what it called.
        callers: Names of the functions that called it.
    """

    def __init__(self, key: tuple[str, int, str], value: tuple[int, int, float, float, dict[Any, Any]]) -> None:
        self.function_name = _function_name(key)
        self.prim_calls, self.total_calls, self.total_time, self.cumulative_time, callers = value
        self.callers = list(map(_function_name, callers))


class cProfileStats:  # noqa: N801 - smdebug's name
    """Statistics of cProfile, summed over spans.

    Args:
        ps: The statistics.

    Attributes:
        ps: The statistics.
        function_stats_list: One entry for each function.
    """

    def __init__(self, ps: pstats.Stats) -> None:
        self.ps = ps
        stats: dict[Any, Any] = ps.stats  # type: ignore[attr-defined] # documented, but missing in the stubs
        self.function_stats_list = [cProfileFunctionStats(key, value) for key, value in stats.items()]

    def print_top_n_functions(self, by: Metrics, n: int = 10) -> None:
        """Print the functions with the largest values.

        Args:
            by: What to sort by.
            n: Number of functions to print.
        """
        assert isinstance(by, Metrics), f"by must be one of {list(Metrics)} (got {by!r})"
        assert isinstance(n, int), f"n must be a whole number (got {n!r})"
        self.ps.sort_stats(by.value).print_stats(n)

    def get_function_stats(self) -> pd.DataFrame:
        """Return a table with a row for each function: name, calls, and times in seconds; the slowest come first.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        pandas = import_optional("pandas", "get_function_stats", "analysis")
        columns = ["function_name", "prim_calls", "total_calls", "total_time", "cumulative_time", "callers"]
        rows = [[getattr(function, column) for column in columns] for function in self.function_stats_list]
        table: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
        slowest_first: pd.DataFrame = table.sort_values("total_time", ascending=False, ignore_index=True)
        return slowest_first


class PyinstrumentStepStats:
    """Statistics of Pyinstrument over one span.

    Args:
        html_file_path: Local path of the page; empty if it was not written.
        json_stats: The tree of calls, parsed.
    """

    def __init__(self, html_file_path: str, json_stats: Any) -> None:
        self.html_file_path = html_file_path
        self.json_stats = json_stats


def span_folder(path: str) -> str:
    """Return the name of the folder that holds a file of statistics."""
    return os.path.basename(os.path.dirname(path))
