"""Profiler data as pandas tables."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.times import TEXT_FORMAT, parse_time, us_since_epoch_to_human_readable_time
from sagemaker_debug_ext.profiler.open_readers import open_readers

if TYPE_CHECKING:
    import pandas as pd

    from sagemaker_debug_ext.profiler.format.system_rows import SystemRows
    from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_STEP: Final = "Step:"
_FRAMEWORK_COLUMNS: Final = (
    "start_time",
    "end_time",
    "start_time_us",
    "end_time_us",
    "tid",
    "pid",
    "framework_metric",
    "step",
    "bytes",
    "process",
    "nodeID",
)
_DATALOADER_COLUMNS: Final = (
    "start_time",
    "end_time",
    "start_time_us",
    "end_time_us",
    "duration_us",
    "pid",
    "framework_metric",
    "step",
    "worker_id",
    "num_workers",
    "pin_memory",
    "process",
    "node_id",
)


class PandasFrame:
    """Reads profiler data into pandas tables.

    Columns that end in ``_us`` hold microseconds since `start_time`, the full minute in which sampling began. Text
    columns hold times in UTC.

    System metrics have the columns ``timestamp``, ``timestamp_us``, ``value`` (percent or a rate per second),
    ``system_metric`` (the sensor), ``dimension``, ``nodeID`` and ``type``. A row that repeats another one is left out.

    Framework metrics have the columns ``start_time``, ``end_time``, ``start_time_us``, ``end_time_us``, ``tid``,
    ``pid``, ``framework_metric`` (layer or name of the event), ``step`` (-1 if none), ``bytes`` (-1 if none),
    ``process`` (the phase) and ``nodeID`` (the worker).

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        use_in_memory_cache: Keep what was read, so that an unchanged file is read once.
        scan_interval: Has no effect; it set the length of a chunk.

    Attributes:
        start_time: The first minute of system metrics, in microseconds since 1970; 0 if there are none.
        system_metrics_reader: The reader of system metrics.
        framework_metrics_reader: The reader of framework metrics.

    Raises:
        MissingDependencyError: pandas is not installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        use_in_memory_cache: bool = False,
        scan_interval: int = 5_000_000_000,  # noqa: ARG002 - smdebug's signature
    ) -> None:
        self._pandas: Any = import_optional("pandas", "PandasFrame", "analysis")
        self.path = os.fspath(path)
        self.system_metrics_reader, self.framework_metrics_reader = open_readers(self.path, use_in_memory_cache)
        self.start_time = self.system_metrics_reader.get_timestamp_of_first_available_file()
        self._system_frames: list[pd.DataFrame] = []
        self._framework_frames: list[pd.DataFrame] = []

    # --- all of it ---------------------------------------------------------------------------------------------------

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return the system metrics.

        Args:
            selected_system_metrics: Names of sensors, such as ``cpu0``; all by default.
        """
        return self._system_frame(self.system_metrics_reader.get_all_rows(), selected_system_metrics)

    def get_all_framework_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return the framework metrics.

        Args:
            selected_framework_metrics: Exact names of events or phases; all by default.
        """
        return self._framework_frame(self.framework_metrics_reader.get_all_events(), selected_framework_metrics)

    def get_all_dataloader_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return the framework metrics with the facts of data loaders.

        The columns are those of framework metrics without ``tid`` and ``bytes``, with ``duration_us``, ``worker_id``
        (-1 if none), ``num_workers`` (-1), ``pin_memory`` (``"True"``, ``"False"``, ``"NA"``), and ``node_id`` for
        ``nodeID``.

        Args:
            selected_framework_metrics: Regular expressions, which names of events or phases contain; all by default.

        Raises:
            SMDebugValueError: A regular expression is invalid.
        """
        patterns = [_compile(text) for text in selected_framework_metrics]
        events = [
            event
            for event in self.framework_metrics_reader.get_all_events()
            if not patterns
            or any(found.search(event.event_name) or found.search(event.event_phase) for found in patterns)
        ]
        rows = (
            (
                event.start_time,
                event.end_time,
                event.duration,
                event.pid,
                _metric_name(event),
                event.step,
                (event.event_args or {}).get("worker_id", -1),
                (event.event_args or {}).get("num_workers", -1),
                str((event.event_args or {}).get("pin_memory", "NA")),
                event.event_phase,
                event.node_id,
            )
            for event in events
        )
        return self._timed_frame(rows, _DATALOADER_COLUMNS)

    # --- parts -------------------------------------------------------------------------------------------------------

    def get_profiler_data_by_time(
        self,
        start_time_us: int,
        end_time_us: int,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True,
        get_system_metrics: bool = True,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return system and framework metrics of a time range.

        Args:
            start_time_us: Start in microseconds since 1970, inclusive.
            end_time_us: End in microseconds since 1970, inclusive.
            cache_metrics: Return what earlier calls with this argument returned as well.
            selected_framework_metrics: Exact names of events or phases; all by default.
            selected_system_metrics: Names of sensors; all by default.
            get_framework_metrics: Whether to read framework metrics; the table is empty otherwise.
            get_system_metrics: Whether to read system metrics; the table is empty otherwise.
        """
        rows = self.system_metrics_reader.get_rows(start_time_us, end_time_us) if get_system_metrics else None
        events = self.framework_metrics_reader.get_events(start_time_us, end_time_us) if get_framework_metrics else []
        system = self._system_frame(rows, selected_system_metrics)
        framework = self._framework_frame(events, selected_framework_metrics)
        if cache_metrics:
            self._system_frames.append(system)
            self._framework_frames.append(framework)
            system = self._pandas.concat(self._system_frames, ignore_index=True).drop_duplicates(ignore_index=True)
            framework = self._pandas.concat(self._framework_frames, ignore_index=True)
        return system, framework

    def get_profiler_data_by_step(
        self,
        start_step: int,
        end_step: int,
        cache_metrics: bool = False,  # noqa: ARG002 - smdebug's signature; it had no effect there, either
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the framework metrics of some steps, and the system metrics of the same times.

        Steps are counted per mode. System metrics are those from the earliest start to the latest end of each phase
        ``Step:ModeKeys.<mode>``, so that the time between equal steps of two modes is left out.

        Args:
            start_step: First step, inclusive.
            end_step: Last step, inclusive.
            cache_metrics: Has no effect.
        """
        system, framework = self.get_all_system_metrics(), self.get_all_framework_metrics()
        framework = framework[framework["step"].between(start_step, end_step)]
        steps = framework[framework["process"].str.startswith(_STEP)] if len(framework) else framework
        spans = (
            (steps if len(steps) else framework).groupby("process").agg({"start_time_us": "min", "end_time_us": "max"})
        )
        inside = self._pandas.Series(data=False, index=system.index)
        for span in spans.itertuples():
            inside |= system["timestamp_us"].between(span.start_time_us, span.end_time_us)
        return system[inside], framework

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[str] = (), selected_framework_metrics: Sequence[str] = ()
    ) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Return for how long the events last that contain one of some times.

        Args:
            timestep_list: Times as in the column ``timestamp``, in UTC.
            selected_framework_metrics: Exact names of events or phases; all by default.

        Returns:
            Three mappings: phase → length relative to the longest phase, name of the event → microseconds, phase of
            steps → microseconds.

        Raises:
            SMDebugValueError: A time has another format.
        """
        times = sorted(map(self.convert_datetime_to_timestamp, timestep_list))
        phases: dict[str, float] = {}
        names: dict[str, float] = {}
        for event in self._selected_events(times, selected_framework_metrics) if times else ():
            length = event.duration * sum(event.start_time < time < event.end_time for time in times)
            if length:
                _add(phases, event.event_phase, length)
                if "Step" not in event.event_name:
                    _add(names, event.event_name, length)
        steps = {phase: length for phase, length in phases.items() if "Step" in phase}
        others = {phase: length for phase, length in phases.items() if "Step" not in phase}
        return _relative(others), names, steps

    def get_framework_metrics_by_begin_and_end_timesteps(
        self,
        begin_timestep_list: Sequence[str],
        end_timestep_list: Sequence[str],
        selected_framework_metrics: Sequence[str] = (),
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return for how long the events last that overlap some time ranges.

        Args:
            begin_timestep_list: Start of each range, as in the column ``timestamp``, in UTC.
            end_timestep_list: End of each range.
            selected_framework_metrics: Exact names of events or phases; all by default.

        Returns:
            Two mappings: phase, and name of the event → length relative to the longest one.

        Raises:
            SMDebugValueError: A time has another format, or the lists have unequal lengths.
        """
        if len(begin_timestep_list) != len(end_timestep_list):
            raise SMDebugValueError(
                f"begin_timestep_list and end_timestep_list must have equal lengths "
                f"(got {len(begin_timestep_list)} and {len(end_timestep_list)})"
            )
        starts, ends = (
            [self.convert_datetime_to_timestamp(text) for text in texts]
            for texts in (begin_timestep_list, end_timestep_list)
        )
        phases: dict[str, float] = {}
        names: dict[str, float] = {}
        for event in self._selected_events([*starts, *ends], selected_framework_metrics) if starts else ():
            num_overlaps = sum(
                event.end_time >= start and event.start_time <= end for start, end in zip(starts, ends, strict=True)
            )
            if num_overlaps and "Step" not in event.event_name:
                _add(phases, event.event_phase, event.duration * num_overlaps)
                _add(names, event.event_name, event.duration * num_overlaps)
        return _relative(phases), _relative(names)

    @staticmethod
    def convert_datetime_to_timestamp(timestamp: str) -> int:
        """Return the microseconds since 1970 of a time as in the column ``timestamp``.

        Raises:
            SMDebugValueError: The text has another format.
        """
        try:
            return parse_time(timestamp)
        except (TypeError, ValueError) as error:
            raise SMDebugValueError(f"time must have the format {TEXT_FORMAT} (got {timestamp!r})") from error

    # --- tables ------------------------------------------------------------------------------------------------------

    def _selected_events(self, times: Sequence[int], selected: Sequence[str]) -> Iterable[TraceEvent]:
        return filter(_selection(selected), self.framework_metrics_reader.get_events(min(times), max(times)))

    def _system_frame(self, rows: SystemRows | None, selected: Sequence[str]) -> pd.DataFrame:
        types, names, dimensions, values, nodes, timestamps = rows or ((), (), (), (), (), ())
        times_us = (np.asarray(timestamps, dtype=np.float64) * 1_000_000).astype(np.int64)
        distinct_us, places = np.unique(times_us, return_inverse=True)  # sensors of a family share their time
        texts = np.array([us_since_epoch_to_human_readable_time(time_us) for time_us in distinct_us.tolist()], object)
        frame: pd.DataFrame = self._pandas.DataFrame(
            {
                "timestamp": texts[places],
                "timestamp_us": times_us - self.start_time,
                "value": values,
                "system_metric": names,
                "dimension": dimensions,
                "nodeID": nodes,
                "type": types,
            },
            copy=False,
        )
        if selected:
            frame = frame[frame["system_metric"].isin(list(selected))].reset_index(drop=True)
        if _all_differ(timestamps, values, names, dimensions, nodes):
            return frame
        distinct: pd.DataFrame = frame.drop_duplicates(ignore_index=True)
        return distinct

    def _framework_frame(self, events: Iterable[TraceEvent], selected: Sequence[str]) -> pd.DataFrame:
        rows = (
            (
                event.start_time,
                event.end_time,
                event.tid,
                event.pid,
                _metric_name(event),
                event.step,
                (event.event_args or {}).get("bytes_fetched", -1),
                event.event_phase,
                event.node_id,
            )
            for event in filter(_selection(selected), events)
        )
        return self._timed_frame(rows, _FRAMEWORK_COLUMNS)

    def _timed_frame(self, rows: Iterable[tuple[Any, ...]], columns: Sequence[str]) -> pd.DataFrame:
        """Return a table of rows that begin with start and end in microseconds since 1970."""
        to_text = us_since_epoch_to_human_readable_time
        table = [(to_text(row[0]), to_text(row[1]), *row) for row in rows]
        frame: pd.DataFrame = self._pandas.DataFrame(table, columns=list(columns))
        frame["start_time_us"] -= self.start_time
        frame["end_time_us"] -= self.start_time
        return frame


def _all_differ(*columns: Sequence[Any]) -> bool:
    """Return whether no row of some columns equals another one."""
    return len(set(zip(*columns, strict=True))) == len(columns[0])


def _selection(selected: Sequence[str]) -> Callable[[TraceEvent], bool]:
    wanted = frozenset(selected)
    return lambda event: not wanted or event.event_name in wanted or event.event_phase in wanted


def _metric_name(event: TraceEvent) -> Any:
    arguments = event.event_args or {}
    return arguments.get("layer_name", arguments.get("name", event.event_name))


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SMDebugValueError(
            f"selected_framework_metrics must be regular expressions (got {pattern!r}: {error})"
        ) from error


def _add(lengths: dict[str, float], key: str, length: float) -> None:
    lengths[key] = lengths.get(key, 0) + length


def _relative(lengths: dict[str, float]) -> dict[str, float]:
    longest = max(lengths.values(), default=1)
    return {key: length / (longest or 1) for key, length in lengths.items()}
