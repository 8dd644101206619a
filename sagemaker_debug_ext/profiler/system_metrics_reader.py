"""Readers of system metrics: utilization of processors, memory, disk, network and GPUs."""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext._lazy import lazy_names
from sagemaker_debug_ext.profiler.format.file_names import (
    SYSTEM_PREFIX,
    get_utctimestamp_us_since_epoch_from_system_profiler_file,
)
from sagemaker_debug_ext.profiler.format.system_rows import SystemRows, parse_rows
from sagemaker_debug_ext.profiler.format.times import (
    TimeUnits,
    convert_utc_timestamp_to_microseconds,
    convert_utc_timestamp_to_nanoseconds,
)
from sagemaker_debug_ext.profiler.metrics_reader_base import MetricsReaderBase, TimedFile, has_suffix
from sagemaker_debug_ext.profiler.profiler_files import LocalProfilerFiles, S3ProfilerFiles
from sagemaker_debug_ext.profiler.system_profiler_file_parser import ProfilerSystemEvent, SystemProfilerEventParser

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.base import ObjectInfo


class ProfilerSystemEvents(SystemProfilerEventParser):
    """The parser of a reader."""


class SystemMetricsReader(MetricsReaderBase[SystemRows, ProfilerSystemEvent]):
    """Reads system metrics. Use one of the subclasses."""

    prefix = SYSTEM_PREFIX

    def _find_timed(self, known: dict[str, ObjectInfo]) -> Iterator[TimedFile]:
        for key, info in known.items():
            minute_us = get_utctimestamp_us_since_epoch_from_system_profiler_file(f"./{key}")
            if minute_us is not None:
                yield TimedFile(minute_us, key, info)

    def _parse(self, key: str, content: bytes) -> SystemRows:
        rows, problems = parse_rows(content)
        for problem in problems:
            self._report(key, problem)
        return rows

    def get_rows(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> SystemRows:
        """Return the rows with ``start_time <= timestamp <= end_time`` as columns, in file order.

        Args:
            start_time: Start since 1970, inclusive.
            end_time: End since 1970, inclusive.
            unit: Unit of both times.
            event_type: Only rows of this type: ``cpu``, ``gpu``, ``memory``, ``i/o`` or ``network``.
            file_suffix_filter: Only files whose names end with one of these.
        """
        start_us, end_us = (convert_utc_timestamp_to_microseconds(time, unit) for time in (start_time, end_time))
        self._refresh_if_newer_than_known(end_us)
        files = self._up_to(end_us)
        before = bisect.bisect_right(files, start_us - self._buffer_us, key=lambda file: file.time_us)
        if before:
            before = bisect.bisect_left(files, (files[before - 1].time_us,))
        start_ns, end_ns = (convert_utc_timestamp_to_nanoseconds(time, unit) for time in (start_time, end_time))
        chosen = [file for file in files[before:] if has_suffix(file.key, file_suffix_filter)]
        return SystemRows.concatenate(
            [_within(rows, start_ns, end_ns, event_type) for _, rows in self._read(chosen) if rows]
        )

    def get_all_rows(self) -> SystemRows:
        """Return the rows of all files as columns, in file order."""
        self.refresh_event_file_list()
        return SystemRows.concatenate([rows for _, rows in self._read(self._timed)])

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[ProfilerSystemEvent]:
        """Return the events with ``start_time <= timestamp <= end_time``, in file order; see `get_rows`."""
        rows = self.get_rows(start_time, end_time, unit, event_type, file_suffix_filter)
        return [ProfilerSystemEvent(*row) for row in zip(*rows, strict=True)]

    def get_all_event_parsers(self) -> list[SystemProfilerEventParser]:
        """Return one parser that holds the events of all files."""
        parser = ProfilerSystemEvents()
        parser.add_rows(self.get_all_rows().rows())
        return [parser]


class LocalSystemMetricsReader(SystemMetricsReader):
    """Reads system metrics from a folder.

    Args:
        trace_root_folder: The folder ``profiler-output``.
        use_in_memory_cache: Keep what was read, so that an unchanged file is read once.
    """

    def __init__(self, trace_root_folder: str | os.PathLike[str], use_in_memory_cache: bool = False) -> None:
        super().__init__(LocalProfilerFiles(os.fspath(trace_root_folder)), use_in_memory_cache)


class S3SystemMetricsReader(SystemMetricsReader):
    """Reads system metrics from S3.

    Args:
        s3_trial_path: Address of the folder ``profiler-output``.
        use_in_memory_cache: Keep what was read, so that an unchanged file is read once.
    """

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(S3ProfilerFiles(s3_trial_path), use_in_memory_cache)


def _within(rows: SystemRows, start_ns: float, end_ns: float, event_type: str | None) -> SystemRows:
    first_ns, last_ns = int(min(rows.timestamps) * 1e9), int(max(rows.timestamps) * 1e9)
    if last_ns < start_ns or first_ns > end_ns:
        return rows.select(())
    is_inside = first_ns >= start_ns and last_ns <= end_ns
    if is_inside and event_type is None:
        return rows
    return rows.select(
        [
            position
            for position, (kind, timestamp) in enumerate(zip(rows.types, rows.timestamps, strict=True))
            if event_type in (None, kind) and start_ns <= int(timestamp * 1e9) <= end_ns
        ]
    )


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
