"""Readers of framework metrics: steps, phases, operators, data loaders, communication."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.profiler.format.file_names import (
    FRAMEWORK_PREFIX,
    get_node_id_from_tracefilename,
    get_timestamp_from_tracefilename,
    is_valid_tfprof_tracefilename,
    is_valid_tracefilename,
    parse_tensorflow_metadata,
    tensorflow_profile_folder,
)
from sagemaker_debug_ext.profiler.format.trace_remainder import load_remainder
from sagemaker_debug_ext.profiler.metrics_reader_base import FolderReader, MetricsReaderBase, Query, S3Reader, TimedFile
from sagemaker_debug_ext.profiler.profiler_constants import (
    DEFAULT_PREFIX,
    HOROVODTIMELINE_SUFFIX,
    MODELTIMELINE_SUFFIX,
    PYTHONTIMELINE_SUFFIX,
    SMDATAPARALLELTIMELINE_SUFFIX,
    TENSORBOARDTIMELINE_SUFFIX,
)
from sagemaker_debug_ext.profiler.tf_profiler_parser import (
    HorovodProfilerEvents,
    SMDataParallelProfilerEvents,
    SMProfilerEvents,
    TensorboardProfilerEvents,
    base_time_entry,
    host_of,
)
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent, TraceEventParser
from sagemaker_debug_ext.store.backends.base import ByteRange

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.base import Backend, ObjectInfo

_ALL_TIME: Final = 1 << 62
_OPEN_SUFFIX: Final = ".tmp"


class AlgorithmMetricsReader(MetricsReaderBase[list[TraceEvent], TraceEvent]):
    """Reads framework metrics; the arguments are those of `MetricsReaderBase`."""

    prefix = FRAMEWORK_PREFIX
    prefix_sorted_by_time = f"{DEFAULT_PREFIX}/"

    def __init__(self, files: Backend, use_in_memory_cache: bool = False) -> None:
        self._parsers: dict[str, TraceEventParser] = {
            PYTHONTIMELINE_SUFFIX: SMProfilerEvents(),
            MODELTIMELINE_SUFFIX: SMProfilerEvents("DetailedframeworkMetrics"),
            TENSORBOARDTIMELINE_SUFFIX: TensorboardProfilerEvents(),
            HOROVODTIMELINE_SUFFIX: HorovodProfilerEvents(),
            SMDATAPARALLELTIMELINE_SUFFIX: SMDataParallelProfilerEvents(),
        }
        super().__init__(files, use_in_memory_cache)

    def _find_timed(self, known: dict[str, ObjectInfo]) -> Iterator[TimedFile]:
        for key, info in known.items():
            if self._suffix_of(key) is None:
                continue
            if is_valid_tracefilename(key):
                yield TimedFile(get_timestamp_from_tracefilename(key), key, info)
            elif is_valid_tfprof_tracefilename(key):
                yield TimedFile(int(self._tensorflow_metadata(key)[2]), key, info)

    def _suffix_of(self, key: str) -> str | None:
        return next((suffix for suffix in self._parsers if key.endswith(suffix)), None)

    def _tensorflow_metadata(self, key: str) -> tuple[str, str, str]:
        folder = tensorflow_profile_folder(key)
        return parse_tensorflow_metadata([other for other in self._known if os.path.dirname(other) == folder])

    def _parse(self, key: str, content: bytes) -> list[TraceEvent]:
        parser = self._parsers[self._suffix_of(key) or PYTHONTIMELINE_SUFFIX]
        try:
            entries = parser.load(content)
        except ValueError as error:
            self._report(key, str(error))
            return []
        if is_valid_tfprof_tracefilename(key):
            start_us = int(self._tensorflow_metadata(key)[1])
            return list(parser.parse([base_time_entry(start_us), *entries], host_of(key)))
        return list(parser.parse(entries, get_node_id_from_tracefilename(key)))

    def _find_events(self, query: Query) -> list[TraceEvent]:
        if query.event_type is not None:
            raise SMDebugTypeError(f"event_type must be None for framework metrics (got {query.event_type!r})")
        start_us, end_us = query.range_us
        # A name says when its file ends, so files from long before the start hold nothing of the range.
        chosen = [
            file
            for file in self._files_until(end_us)
            if (file.time_us >= start_us - self._buffer_us or not file.time_us) and query.has_suffix_of(file.key)
        ]
        return [
            event
            for suffix in self._parsers
            for _, events in self._read([file for file in chosen if self._suffix_of(file.key) == suffix])
            for event in events
            if event.end_time >= start_us and event.start_time <= end_us
        ]

    def get_all_events(self) -> list[TraceEvent]:
        """Return all events, by kind of file, then by file."""
        return self.get_events(0, _ALL_TIME)

    def get_open_events(self) -> list[TraceEvent]:
        """Return the events in files that are being written, or were left behind by a killed process.

        The other queries do not return them before their file is complete.
        """
        keys = [
            key
            for key in self._known
            if key.endswith(_OPEN_SUFFIX)
            and os.path.dirname(key) == FRAMEWORK_PREFIX.rstrip("/")
            and self._suffix_of(key.removesuffix(_OPEN_SUFFIX)) is not None
        ]
        events: list[TraceEvent] = []
        for key, content in zip(keys, self._files.read_many(map(ByteRange, keys)), strict=True):
            if content is None:  # it is complete by now, and has another name
                del self._known[key]
            elif isinstance(content, OSError):
                self._report(key, str(content))
            else:
                parser = self._parsers[self._suffix_of(key.removesuffix(_OPEN_SUFFIX)) or PYTHONTIMELINE_SUFFIX]
                node = os.path.basename(key).partition("_")[0]
                events += parser.parse(load_remainder(bytes(content)), node)
        return events

    def get_events_by_step(
        self,
        start_step: int,
        end_step: int,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[TraceEvent]:
        """Return the events from the start of one step to just before another, over all modes and workers.

        Args:
            start_step: First step.
            end_step: The step after the last one.
            event_type: Must be None.
            file_suffix_filter: Only files whose names end with one of these.

        Returns:
            The events; none if the first step was not recorded.
        """
        interval = self.get_time_interval_for_step(start_step, end_step)
        if interval is None:
            return []
        return self.get_events(*interval, event_type=event_type, file_suffix_filter=file_suffix_filter)

    def get_time_interval_for_step(self, start_step: int, end_step: int) -> tuple[float, float] | None:
        """Return the microseconds since 1970 at which a step begins, and 1 before another begins.

        The end of the data takes the place of an `end_step` that was not recorded.

        Returns:
            Both times; None if `start_step` was not recorded.
        """
        events = self.get_all_events()
        starts = [event.start_time for event in events if event.step == start_step]
        if not starts:
            return None
        ends = [event.start_time - 1 for event in events if event.step == end_step]
        return min(starts), min(ends) if ends else max(event.end_time for event in events)

    def get_current_time_range_for_event_query(self) -> tuple[int, int]:
        """Return the first and the last time in file names, in microseconds since 1970; zeros without files."""
        return self.get_timestamp_of_first_available_file(), self.get_timestamp_of_latest_available_file()

    def get_all_event_parsers(self) -> list[TraceEventParser]:
        """Return one parser for each kind of file."""
        return list(self._parsers.values())


class LocalAlgorithmMetricsReader(FolderReader[list[TraceEvent], TraceEvent], AlgorithmMetricsReader):
    """Reads framework metrics from a folder; the arguments are those of `FolderReader`."""


class S3AlgorithmMetricsReader(S3Reader[list[TraceEvent], TraceEvent], AlgorithmMetricsReader):
    """Reads framework metrics from S3; the arguments are those of `S3Reader`."""
