"""One timeline for chrome://tracing and Perfetto from all trace files and system metrics."""

from __future__ import annotations

import enum
import itertools
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.open_readers import open_readers
from sagemaker_debug_ext.profiler.profiler_constants import MERGEDTIMELINE_SUFFIX
from sagemaker_debug_ext.store.backends import open_backend

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_FIRST_NUMBERS: Final = {
    "Step:": 1,
    "Forward": 10_000,
    "Backward": 20_000,
    "DataIterator": 30_000,
    "Dataset": 40_000,
    "/device": 50_000,
    "/host": 60_000,
    "gpu_functions": 70_000,
    "cpu_functions": 80_000,
    "Horovod": 90_000,
}
"""Part of a phase's name → number of the first such phase; viewers sort tracks by these numbers."""

_FIRST_OTHER: Final = 1_000_000
_COUNTERS: Final = "sys_metrics"
_BOTTLENECKS: Final = "sys_metrics_bottlenecks"
_LOW_GPU_PERCENT: Final = 85
_SAME_TICK_SECONDS: Final = 0.02
"""The families of sensors are read one after the other, a few milliseconds apart."""


class MergeUnit(enum.Enum):
    """The unit of a range to merge."""

    TIME = "time"
    STEP = "step"


class MergedTimeline:
    """Merges trace events and system metrics into one file of Chrome's trace event format.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        file_suffix_filter: Only trace files whose names end with one of these; all by default.
        output_directory: Where the merged file is written, a folder or an address on S3; `path` by default.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        file_suffix_filter: Sequence[str] | None = None,
        output_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.out_dir = self.path if output_directory is None else os.fspath(output_directory)
        self.file_suffix_filter = file_suffix_filter
        self.system_metrics_reader, self.framework_metrics_reader = open_readers(self.path)

    def file_name(self, end_timestamp_in_us: float) -> str:
        """Return the path of the merged file."""
        name = f"{int(end_timestamp_in_us)}_{os.getpid()}-{platform.node()}_{MERGEDTIMELINE_SUFFIX}"
        return f"{self.out_dir.rstrip('/')}/{name}"

    def merge_timeline(
        self,
        start: float,
        end: float,
        unit: MergeUnit | str = MergeUnit.TIME,
        sys_metrics_filter: Mapping[str, Any] | None = {"lowgpu": ()},
    ) -> str:
        """Write the events of a range, with absolute times.

        System metrics become counters. Where a GPU is below 85 % of utilization, an instant event holds all metrics
        of that time.

        Args:
            start: Microseconds since 1970, or a step.
            end: Microseconds since 1970, or the step after the last one.
            unit: Whether the range is given by ``time`` or by ``step``.
            sys_metrics_filter: None or an empty mapping leaves out system metrics.

        Returns:
            The path of the file. Its array is empty if there are no events in the range.

        Raises:
            SMDebugValueError: `unit` is another word.
            OSError: The file cannot be written.
        """
        if MergeUnit(unit) is MergeUnit.STEP:
            interval = self.framework_metrics_reader.get_time_interval_for_step(int(start), int(end))
            start, end = interval or (0, 0)
        events = self.framework_metrics_reader.get_events(start, end, file_suffix_filter=self.file_suffix_filter)
        rows = list(self.system_metrics_reader.get_rows(start, end).rows()) if sys_metrics_filter else []
        entries = merged_entries(events, sorted(rows, key=lambda row: row.timestamp))
        path = self.file_name(end)
        content = "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]"
        folder, _, name = path.rpartition("/")
        if not folder.startswith(SCHEME):
            os.makedirs(folder, exist_ok=True)
        open_backend(folder).write(name, [content.encode()])
        return path


def merged_entries(events: Sequence[TraceEvent], rows: Sequence[SystemRow]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a merged trace, sorted by time, each phase and thread announced before its first event.

    Args:
        events: Trace events.
        rows: System metrics, sorted by time.
    """
    timed: list[tuple[float, int, str, TraceEvent | dict[str, Any]]] = [
        (event.start_time, at, event.event_phase, event) for at, event in enumerate(events)
    ]
    order = itertools.count(len(timed))
    timed += [(entry["ts"], next(order), _COUNTERS, entry) for entry in map(_counter, rows)]
    timed += [(entry["ts"], next(order), _BOTTLENECKS, entry) for entry in _low_gpu_marks(rows)]
    tracks = _Tracks()
    for _, _, phase, event in sorted(timed, key=lambda item: item[:2]):
        number, metadata = tracks.number_of(phase)
        yield from metadata
        if isinstance(event, dict):
            yield {**event, "pid": number}
            continue
        thread, metadata = tracks.thread_of(number, event)
        yield from metadata
        entry = {"name": event.event_name, "pid": number, "tid": thread, "ph": event.phase, "ts": event.start_time}
        entry["dur"] = event.duration
        if event.event_args:
            entry["args"] = event.event_args
        yield entry


class _Tracks:
    """Numbers of phases, and of threads within a phase: one for each worker and thread."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._threads: dict[tuple[int, str], int] = {}
        self._counts = {**_FIRST_NUMBERS, "": _FIRST_OTHER}

    def number_of(self, phase: str) -> tuple[int, list[dict[str, Any]]]:
        if phase in self._numbers:
            return self._numbers[phase], []
        kind = next((part for part in _FIRST_NUMBERS if part in phase), "")
        number = self._numbers[phase] = self._counts[kind]
        self._counts[kind] += 1
        return number, [
            {"name": "process_name", "ph": "M", "pid": number, "args": {"name": phase}},
            {"name": "process_sort_index", "ph": "M", "pid": number, "args": {"sort_index": number}},
        ]

    def thread_of(self, number: int, event: TraceEvent) -> tuple[int, list[dict[str, Any]]]:
        threads = event.process_info._threads if event.process_info else {}  # noqa: SLF001 - smdebug's name
        known = threads.get(event.phase_tid)
        name = known.thread_name if known else f"{event.node_id}_{event.phase_tid}"
        if (number, name) in self._threads:
            return self._threads[number, name], []
        thread = self._threads[number, name] = len(self._threads)
        metadata = {"name": "thread_name", "ph": "M", "pid": number, "tid": thread, "args": {"name": name}}
        return thread, [metadata]


def _sensor(row: SystemRow) -> str:
    return f"{row.name}_{row.dimension}_{row.node}"


def _counter(row: SystemRow) -> dict[str, Any]:
    return {
        "name": _sensor(row),
        "pid": 0,
        "tid": 0,
        "ph": "C",
        "ts": int(row.timestamp * 1e6),
        "args": {"value": row.value},
    }


def _low_gpu_marks(rows: Sequence[SystemRow]) -> Iterator[dict[str, Any]]:
    """Yield an instant event for each time and node at which a GPU is little used, with all metrics of that time."""
    begin = 0
    marked: set[tuple[str, float]] = set()
    for row in rows:
        is_low = row.dimension == "GPUUtilization" and row.value < _LOW_GPU_PERCENT
        if not is_low or (row.node, row.timestamp) in marked:
            continue
        marked.add((row.node, row.timestamp))
        while rows[begin].timestamp < row.timestamp - _SAME_TICK_SECONDS:
            begin += 1
        end = begin
        while end < len(rows) and rows[end].timestamp <= row.timestamp + _SAME_TICK_SECONDS:
            end += 1
        values = {_sensor(other): other.value for other in rows[begin:end]}
        yield {
            "name": _BOTTLENECKS,
            "pid": 0,
            "tid": 0,
            "ph": "i",
            "ts": int(row.timestamp * 1e6),
            "s": "t",
            "args": values,
        }
