"""Statistics of a job from its profiler tables."""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._imports.optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

_LOG: Final = logging.getLogger(__name__)
_STEP: Final = "Step:ModeKeys"
_LOOP_PHASES: Final = ("Step:ModeKeys.TRAIN", "Step:ModeKeys.GLOBAL")
_STATISTICS: Final = ("mean", "min", "max", "50%", "95%", "99%")
_STATISTIC_NAMES: Final = ("mean", "min", "max", "p50", "p95", "p99")
_DEFAULT_RANGES: Final = ((90, 100), (10, 90), (0, 10))
_DEVICE_DIMENSIONS: Final = {"cpu": "CPUUtilization", "gpu": "GPUUtilization"}


class StatsBy(enum.Enum):
    """The column that statistics are grouped by."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(enum.Enum):
    """The type of a system metric."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"


_ALL_RESOURCES: Final = (Resource.CPU, Resource.GPU, Resource.MEMORY, Resource.IO, Resource.NETWORK)


class JobStats(dict[str, Any]):
    """Start, end and parts of a job: key → value; see `PandasFrameAnalysis.get_job_statistics`."""

    def __repr__(self) -> str:
        pandas = import_optional("pandas", "PandasFrameAnalysis", "analysis")
        return str(pandas.DataFrame.from_dict(self.as_lists(), orient="index"))

    def as_lists(self) -> dict[str, list[Any]]:
        """Return a list for each key, with one value per worker; times of the job are repeated."""
        lists = {
            key: [value] if isinstance(value, str) or not hasattr(value, "__len__") else list(value)
            for key, value in self.items()
        }
        longest = max(map(len, lists.values()), default=0)
        return {key: values * longest if len(values) == 1 else values for key, values in lists.items()}


class PandasFrameAnalysis:
    """Computes statistics of a job. The tables that it is given are not changed.

    Args:
        system_df: System metrics, as `PandasFrame` returns them.
        framework_df: Framework metrics, as `PandasFrame` returns them. Events without a step get the step that
            encloses them; events outside of all steps keep -1.

    Raises:
        MissingDependencyError: pandas is not installed.
    """

    def __init__(self, system_df: pd.DataFrame, framework_df: pd.DataFrame) -> None:
        self._pandas: Any = import_optional("pandas", "PandasFrameAnalysis", "analysis")
        self.sys_metrics_df = system_df
        framework = framework_df.copy()
        framework["duration_us"] = framework["end_time_us"] - framework["start_time_us"]
        framework["step"] = self._steps_of(framework)
        self.framework_metrics_df = framework

    def _steps_of(self, framework: pd.DataFrame) -> Any:
        """Return the step of each event: its own, else the first one that encloses it, else -1."""
        steps = framework["step"].copy()
        if not len(framework):
            return steps
        own = framework[_names(framework).str.contains(_STEP, regex=False) & (framework["step"] != -1)]
        spans = own.groupby("step").agg({"start_time_us": "min", "end_time_us": "max"})
        for step in reversed(spans.index):
            start, end = spans.loc[step]
            encloses = (framework["start_time_us"] > start) & (framework["end_time_us"] < end)
            steps[encloses & (framework["step"] == -1)] = step
        return steps

    def get_job_statistics(self) -> JobStats:
        """Return when the job, its training loop and its parts began and ended.

        Returns:
            ``start_time``, ``end_time``, ``training_loop_start`` and ``training_loop_end`` as texts; ``job_duration``,
            ``initialization`` (from the first sample to step 0) and ``finalization`` in microseconds;
            ``training_loop_duration`` in microseconds, a series with one value per worker; ``initialization_%``,
            ``training_loop_%`` (a series) and ``finalization_%``. Without step 0 in the data, only the times of the
            job are there.
        """
        system, framework = self.sys_metrics_df, self.framework_metrics_df
        statistics = JobStats()
        if not len(system):
            return statistics
        first_us, last_us = system["timestamp_us"].min(), system["timestamp_us"].max()
        statistics["start_time"] = system["timestamp"].min()
        statistics["end_time"] = system["timestamp"].max()
        statistics["job_duration"] = last_us - first_us
        is_loop = framework["framework_metric"].isin(_LOOP_PHASES)
        step_0 = framework[is_loop & (framework["step"] == 0)].reset_index(drop=True)
        if not len(step_0):
            return statistics
        loop_end_us = framework["end_time_us"].max()
        statistics["training_loop_start"] = step_0["start_time"][0]
        statistics["training_loop_end"] = framework["end_time"].max()
        statistics["training_loop_duration"] = loop_end_us - step_0["start_time_us"]
        statistics["initialization"] = step_0["start_time_us"][0] - first_us
        statistics["finalization"] = last_us - loop_end_us
        for part in ("initialization", "training_loop", "finalization"):
            length = statistics["training_loop_duration" if part == "training_loop" else part]
            statistics[f"{part}_%"] = length / (statistics["job_duration"] or 1) * 100
        return statistics

    def get_step_statistics(self, by: StatsBy = StatsBy.TRAINING_PHASE) -> pd.DataFrame | None:
        """Return how long steps last: mean, minimum, maximum, p50, p95 and p99 in microseconds.

        The length of a step is from the earliest start to the latest end over all workers.

        Args:
            by: What a row stands for: a training phase, a framework metric, or a process.

        Returns:
            The table; None if `by` is of another kind.
        """
        if not _is_stats_by(by):
            return None
        framework = self.framework_metrics_df
        column = "framework_metric" if by is StatsBy.TRAINING_PHASE else by.value
        if by is StatsBy.TRAINING_PHASE:
            framework = framework[_names(framework).str.contains(_STEP, regex=False)]
        spans = framework.groupby(["step", column]).agg({"start_time_us": "min", "end_time_us": "max"})
        lengths = spans["end_time_us"] - spans["start_time_us"]
        described: pd.DataFrame = _describe(lengths.groupby(level=column)).reset_index()
        described.columns = [by.value, *(f"duration_{name}_us" for name in _STATISTIC_NAMES)]
        return described

    def get_utilization_stats(
        self,
        resource: Resource | Sequence[Resource] | None = None,
        by: StatsBy | None = None,
        phase: str | Sequence[str] | None = None,
    ) -> pd.DataFrame | None:
        """Return mean, minimum, maximum, p50, p95 and p99 of system metrics.

        Args:
            resource: The types of metrics; all by default. All dimensions of a type are counted together.
            by: ``StatsBy.TRAINING_PHASE`` for a row per phase; over the whole job by default.
            phase: Phases to split the time into; all training phases by default.

        Returns:
            A table with ``Resource``, ``Training_phase`` if asked for, ``nodeID``, and ``utilization_<statistic>``;
            without rows if there are no such metrics. None if an argument is of another kind.
        """
        if by is not None and not _is_stats_by(by):
            return None
        resources = _resources(resource, _ALL_RESOURCES)
        if resources is None:
            return None
        system = self.sys_metrics_df
        groups = ["nodeID"]
        if by is StatsBy.TRAINING_PHASE:
            system = self._with_phases(system, self.get_training_phase_intervals(phase))
            groups = ["phase", "nodeID"]
        columns = ["Resource", *(["Training_phase"] if len(groups) > 1 else []), "nodeID"]
        columns += [f"utilization_{name}" for name in _STATISTIC_NAMES]
        parts = []
        for name in resources:
            values = system[system["type"] == name]
            if len(values):
                part = _describe(values.groupby(groups)["value"]).reset_index()
                part.insert(0, "Resource", name)
                part.columns = columns
                parts.append(part)
        table: pd.DataFrame = (
            self._pandas.concat(parts, ignore_index=True) if parts else self._pandas.DataFrame(columns=columns)
        )
        return table

    @staticmethod
    def _with_phases(system: pd.DataFrame, intervals: Any) -> Any:
        labelled: Any = system.assign(phase=None)
        for interval in intervals.itertuples() if intervals is not None else ():
            inside = labelled["timestamp_us"].between(interval.start_time_us, interval.end_time_us)
            labelled.loc[inside, "phase"] = interval.phase
        return labelled

    def get_device_usage_stats(
        self,
        device: Resource | Sequence[Resource] | None = None,
        utilization_ranges: Sequence[tuple[float, float]] | None = None,
    ) -> pd.DataFrame:
        """Return how often the utilization of devices was in each of some ranges.

        Only utilization is counted, not I/O wait or memory.

        Args:
            device: CPU, GPU or both; both by default.
            utilization_ranges: Ranges of percent, both ends inclusive; the first that fits counts. More than 90, 10 to
                90, and less than 10 by default.

        Returns:
            A table with ``type``, ``nodeID`` and a column for each range that occurs; empty if an argument is wrong.
        """
        resources = _resources(device, (Resource.CPU, Resource.GPU))
        ranges = list(_DEFAULT_RANGES) if utilization_ranges is None else utilization_ranges
        if resources is None or not _are_ranges(ranges):
            return self._pandas.DataFrame()  # type: ignore[no-any-return]
        dimensions = [_DEVICE_DIMENSIONS[name] for name in resources if name in _DEVICE_DIMENSIONS]
        system = self.sys_metrics_df[self.sys_metrics_df["dimension"].isin(dimensions)]
        found = [next(((low, high) for low, high in ranges if low <= value <= high), None) for value in system["value"]]
        counts: dict[tuple[str, str], dict[tuple[float, float], int]] = {}
        for kind, node, place in zip(system["type"], system["nodeID"], found, strict=True):
            if place is not None:
                row = counts.setdefault((kind, node), {})
                row[place] = row.get(place, 0) + 1
        places = sorted({place for row in counts.values() for place in row})
        rows = [(*key, *(counts[key].get(place, 0) for place in places)) for key in sorted(counts)]
        table: pd.DataFrame = self._pandas.DataFrame(rows)
        # pandas takes a list with tuples for several levels of names.
        table.columns = self._pandas.Index(["type", "nodeID", *places], tupleize_cols=False) if rows else table.columns
        return table

    def get_training_phase_intervals(self, phase: str | Sequence[str] | None = None) -> pd.DataFrame | None:
        """Split the time of the job into training phases, and the time before, between and after them.

        Args:
            phase: Phases to split by; all training phases by default. One phase alone gives an interval per step.

        Returns:
            A table with ``start_time_us``, ``end_time_us`` and ``phase``, sorted by time, over all workers together;
            None if no such phase was recorded.
        """
        framework = self.framework_metrics_df
        recorded = list(framework["process"].unique())
        if phase is None:
            phases = [name for name in recorded if _STEP in name]
        else:
            wanted = [phase] if isinstance(phase, str) else phase
            phases = [name for name in wanted if name in recorded]
        steps = framework[framework["framework_metric"].isin(phases)]
        if not len(steps):
            _LOG.error("no phase %s was recorded; recorded are: %s", phase or _STEP, ", ".join(map(str, recorded)))
            return None
        steps = steps.sort_values("start_time_us", kind="stable")
        spans: list[list[Any]] = []
        for name, start, end in zip(
            steps["framework_metric"], steps["start_time_us"], steps["end_time_us"], strict=True
        ):
            # Steps of several workers overlap; they count as one interval.
            if spans and spans[-1][2] == name and (len(phases) > 1 or start <= spans[-1][1]):
                spans[-1][1] = max(spans[-1][1], end)
            else:
                spans.append([start, end, name])
        return self._pandas.DataFrame(  # type: ignore[no-any-return]
            self._with_gaps(spans), columns=["start_time_us", "end_time_us", "phase"]
        )

    def _with_gaps(self, spans: list[list[Any]]) -> list[tuple[Any, ...]]:
        times = self.sys_metrics_df["timestamp_us"]
        rows: list[tuple[Any, ...]] = [(times.min(), spans[0][0] - 1, f"Before {spans[0][2]}")]
        for (start, end, name), following in zip(spans, [*spans[1:], None], strict=True):
            rows.append((start, end, name))
            if following is not None and end < following[0] - 1:
                rows.append((end + 1, following[0] - 1, f"Between {' and '.join(sorted((name, following[2])))}"))
        rows.append((spans[-1][1] + 1, times.max(), f"After {spans[-1][2]}"))
        return rows


def _names(framework: pd.DataFrame) -> Any:
    return framework["framework_metric"].astype(str)


def _is_stats_by(by: object) -> bool:
    if not isinstance(by, StatsBy):
        _LOG.error("by must be one of %s (got %r)", ", ".join(map(str, StatsBy)), by)
        return False
    return True


def _describe(grouped: Any) -> Any:
    return grouped.describe(percentiles=[0.5, 0.95, 0.99])[list(_STATISTICS)]


def _resources(resource: Any, default: Sequence[Resource]) -> list[str] | None:
    """Return the types of metrics; None, after an error message, if one is not a `Resource`."""
    chosen = default if resource is None else [resource] if isinstance(resource, Resource) else resource
    if not isinstance(chosen, (list, tuple)) or not all(isinstance(kind, Resource) for kind in chosen):
        _LOG.error("resource must be one of %s, or a list of them (got %r)", ", ".join(map(str, Resource)), resource)
        return None
    return [kind.value for kind in chosen]


def _are_ranges(ranges: Any) -> bool:
    if isinstance(ranges, list) and ranges and all(isinstance(pair, tuple) and len(pair) == 2 for pair in ranges):
        return True
    _LOG.error("utilization_ranges must be a list of pairs, such as [(0, 10), (10, 100)] (got %r)", ranges)
    return False
