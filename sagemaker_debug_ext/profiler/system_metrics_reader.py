"""Readers of system metrics: utilization of processors, memory, disk, network and GPUs."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.profiler.format.file_names import (
    SYSTEM_PREFIX,
    get_utctimestamp_us_since_epoch_from_system_profiler_file,
)
from sagemaker_debug_ext.profiler.format.system_rows import SystemRows, parse_rows
from sagemaker_debug_ext.profiler.metrics_reader_base import (
    FolderReader,
    MetricsReaderBase,
    Query,
    S3Reader,
    TimedFile,
)
from sagemaker_debug_ext.profiler.system_profiler_file_parser import ProfilerSystemEvent, SystemProfilerEventParser

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.base import ObjectInfo


class ProfilerSystemEvents(SystemProfilerEventParser):
    """The parser of a reader."""


class SystemMetricsReader(MetricsReaderBase[SystemRows, ProfilerSystemEvent]):
    """Reads system metrics; the arguments are those of `MetricsReaderBase`."""

    prefix = prefix_sorted_by_time = SYSTEM_PREFIX

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

    def get_rows(self, start_us: float, end_us: float) -> SystemRows:
        """Return the rows with ``start_us <= timestamp <= end_us`` as columns, in file order.

        Args:
            start_us: Start in microseconds since 1970.
            end_us: End in microseconds since 1970.
        """
        return self._find_rows(Query(start_us, end_us))

    def get_all_rows(self) -> SystemRows:
        """Return the rows of all files as columns, in file order."""
        self.refresh_event_file_list()
        return SystemRows.concatenate([rows for _, rows in self._read(self._timed)])

    def _find_events(self, query: Query) -> list[ProfilerSystemEvent]:
        return [ProfilerSystemEvent(*row) for row in zip(*self._find_rows(query), strict=True)]

    def _find_rows(self, query: Query) -> SystemRows:
        start_us, end_us = query.range_us
        files = self._files_until(end_us)
        before = bisect.bisect_right(files, start_us - self._buffer_us, key=lambda file: file.time_us)
        if before:
            before = bisect.bisect_left(files, (files[before - 1].time_us,))
        chosen = [file for file in files[before:] if query.has_suffix_of(file.key)]
        return SystemRows.concatenate(
            [_within(rows, *query.range_ns, query.event_type) for _, rows in self._read(chosen) if rows]
        )

    def get_all_event_parsers(self) -> list[SystemProfilerEventParser]:
        """Return one parser that holds the events of all files."""
        parser = ProfilerSystemEvents()
        parser.add_rows(self.get_all_rows().rows())
        return [parser]


class LocalSystemMetricsReader(FolderReader[SystemRows, ProfilerSystemEvent], SystemMetricsReader):
    """Reads system metrics from a folder; the arguments are those of `FolderReader`."""


class S3SystemMetricsReader(S3Reader[SystemRows, ProfilerSystemEvent], SystemMetricsReader):
    """Reads system metrics from S3; the arguments are those of `S3Reader`."""


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
