"""Trace events, and a parser of files in Chrome's trace event format (profiler format, section 1.3)."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.file_names import get_node_id_from_tracefilename, sortable_node
from sagemaker_debug_ext.profiler.format.times import (
    TimeUnits,
    convert_utc_datetime_to_microseconds,
    convert_utc_timestamp_to_microseconds,
)

_LOG: Final = logging.getLogger(__name__)
UNKNOWN_PHASE: Final = "Unknown"


class ThreadInfo:
    """A thread of a phase."""

    __slots__ = ("thread_name", "tid")

    def __init__(self, tid: int, thread_name: str) -> None:
        self.tid = tid
        self.thread_name = thread_name


class ProcessInfo:
    """A phase, which trace files number like a process, and its threads."""

    __slots__ = ("_threads", "id", "name")

    def __init__(self, id: int, name: str) -> None:  # noqa: A002 - smdebug's name
        self.id = id
        self.name = name
        self._threads: dict[int, ThreadInfo] = {}

    def add_thread(self, threadid: int, thread_name: str) -> None:
        """Add a thread, or rename it."""
        self._threads[threadid] = ThreadInfo(threadid, thread_name)

    def get_thread_info(self, threadid: int) -> ThreadInfo:
        """Return a thread.

        Raises:
            KeyError: There is no such thread.
        """
        return self._threads[threadid]


class TraceEvent:
    """A named span of time.

    Attributes:
        start_time: Microseconds since 1970.
        end_time: Microseconds since 1970.
        duration: Microseconds.
        event_name: Name of the event, such as an operator.
        event_phase: Name of the phase that it belongs to, such as ``Step:ModeKeys.TRAIN``.
        event_args: Further facts, such as ``step_num``; None if there are none.
        node_id: The worker, such as ``algo-1-41``.
        phase: Kind of the event in the trace format; ``X`` for a span.
        pid: Process id, or the number of the phase if the file does not say it.
        tid: Thread id, or the number of the phase if the file does not say it.
        phase_pid: Number of the phase in its file.
        phase_tid: Thread within the phase.
        process_info: The phase and its threads.
        file_type: Kind of the file, such as ``PythontimelineMetrics``.
    """

    __slots__ = (
        "duration",
        "end_time",
        "event_args",
        "event_name",
        "event_phase",
        "file_type",
        "node_id",
        "phase",
        "phase_pid",
        "phase_tid",
        "pid",
        "process_info",
        "start_time",
        "tid",
    )

    def __init__(
        self,
        ts: float,
        name: str,
        dur: float,
        phase_pid: int,
        phase_tid: int,
        event_args: dict[str, Any] | None,
        node_id: str,
        phase: str,
        file_type: str,
        event_phase: str = "",
        pid: int = 0,
        tid: int = 0,
        process_info: ProcessInfo | None = None,
    ) -> None:
        self.start_time = ts
        self.event_name = name
        self.duration = dur
        self.end_time = ts + dur
        self.phase_pid = phase_pid
        self.phase_tid = phase_tid
        self.event_args = event_args
        self.node_id = node_id
        self.phase = phase
        self.file_type = file_type
        self.event_phase = event_phase
        self.pid = pid
        self.tid = tid
        self.process_info = process_info

    @property
    def step(self) -> int:
        """The step in ``event_args``; -1 if there is none."""
        try:
            return int((self.event_args or {}).get("step_num", -1))
        except (TypeError, ValueError):
            return -1

    def to_json(self) -> str:
        """Return the event in Chrome's trace event format, with absolute time."""
        entry: dict[str, Any] = {
            "name": self.event_name,
            "pid": self.pid,
            "tid": self.tid,
            "ph": self.phase,
            "ts": self.start_time,
        }
        arguments = dict(self.event_args or {})
        if self.phase == "i" and arguments:
            entry["s"] = arguments.pop("s", "t")
        elif self.phase == "X":
            entry["dur"] = self.duration
        if arguments:
            entry["args"] = arguments
        return json.dumps(entry)


class _Writer:
    """Metadata from the files of one worker: its base time, phases, threads and open spans."""

    def __init__(self) -> None:
        self.base_us = 0
        self.phases: dict[int, ProcessInfo] = {}
        self.threads: dict[int, set[int]] = {}
        self.open: dict[tuple[int, Any], list[dict[str, Any]]] = {}


class TraceEventParser:
    """Collects the events of trace files.

    Phases are numbered by each worker for itself, and a file may use a number that an earlier file of the same worker
    announced. Files of a worker are therefore read in order.

    Args:
        type: Kind of the files, which becomes the `file_type` of their events.
    """

    def __init__(self, type: str = "") -> None:  # noqa: A002 - smdebug's name
        self.type = type
        self._writers: dict[str, _Writer] = {}
        self._trace_events: list[TraceEvent] = []
        self._processes: dict[int, ProcessInfo] = {}

    # --- reading -----------------------------------------------------------------------------------------------------

    def read_events_from_file(self, tracefile: str) -> None:
        """Add the events of a local file; a file that is not JSON is logged and left out."""
        try:
            with open(tracefile, "rb") as file:
                entries = self.load(file.read())
        except (OSError, ValueError) as error:
            _LOG.error("cannot read the trace file %s: %s", tracefile, error)
            return
        self.read_events_from_json_data([*self._entries_before(tracefile), *entries], self._node_of(tracefile))

    def _entries_before(self, tracefile: str) -> list[dict[str, Any]]:  # noqa: ARG002 - for traces without a base time
        """Return entries that a file lacks."""
        return []

    def _node_of(self, tracefile: str) -> str:
        return get_node_id_from_tracefilename(tracefile)

    def read_events_from_json_data(self, trace_json_data: Iterable[Mapping[str, Any]], node_id: str) -> None:
        """Add events that are parsed JSON.

        Args:
            trace_json_data: The entries of a file.
            node_id: The worker, as the file name has it.
        """
        self._trace_events.extend(self.parse(trace_json_data, node_id))

    @staticmethod
    def load(content: bytes) -> list[Any]:
        """Return the entries of a trace file, which may be compressed.

        Raises:
            SMDebugValueError: The content is damaged.
        """
        try:
            text = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        except (OSError, EOFError) as error:
            raise SMDebugValueError(f"damaged compression: {error}") from error
        entries = json.loads(text)
        if isinstance(entries, dict):
            entries = entries.get("traceEvents")
        if not isinstance(entries, list):
            raise SMDebugValueError("a trace must be a JSON array of events")
        return entries

    def parse(self, entries: Iterable[Any], node: str) -> Iterator[TraceEvent]:
        """Yield the spans among the entries of one file; instants and damaged entries are left out."""
        node = sortable_node(node)
        writer = self._writers.setdefault(node, _Writer())
        for entry in entries:
            try:
                event = self._to_event(entry, node, writer)
            except (AttributeError, KeyError, TypeError):
                _LOG.debug("left out a damaged trace event of %s: %r", node, entry)
                continue
            if event is not None:
                yield event

    def _to_event(self, entry: Mapping[str, Any], node: str, writer: _Writer) -> TraceEvent | None:
        kind = entry.get("ph")
        if kind == "M":
            self._take_metadata(entry, node, writer)
        elif kind == "X":
            return self._span(entry, entry["ts"], entry["dur"], entry.get("args"), node, writer)
        elif kind == "B":
            writer.open.setdefault((entry["pid"], entry.get("tid")), []).append(dict(entry))
        elif kind == "E":
            waiting = writer.open.get((entry["pid"], entry.get("tid")))
            begin = waiting.pop() if waiting else None
            if begin is not None and entry["ts"] >= begin["ts"]:
                both = {**(begin.get("args") or {}), **(entry.get("args") or {})} or None
                return self._span(begin, begin["ts"], entry["ts"] - begin["ts"], both, node, writer)
            _LOG.debug("left out an end without a beginning in a trace of %s: %r", node, entry)
        return None

    def _take_metadata(self, entry: Mapping[str, Any], node: str, writer: _Writer) -> None:
        arguments = entry.get("args") or {}
        base_us = arguments.get("start_time_since_epoch_in_micros")
        if base_us is not None:
            writer.base_us = int(base_us)
        elif entry["name"] == "process_name":
            self._announce(entry["pid"], arguments.get("name", UNKNOWN_PHASE), writer)
        elif entry["name"] == "thread_name":
            phase = writer.phases.get(entry["pid"]) or self._announce(entry["pid"], UNKNOWN_PHASE, writer)
            phase.add_thread(entry["tid"], f"{node}_{arguments['name']}")

    def _announce(self, number: int, name: str, writer: _Writer) -> ProcessInfo:
        known = writer.phases.get(number)
        if known is None or known.name != name:
            known = writer.phases[number] = self._processes[number] = ProcessInfo(number, name)
        return known

    def _span(
        self,
        entry: Mapping[str, Any],
        start: float,
        duration: float,
        arguments: dict[str, Any] | None,
        node: str,
        writer: _Writer,
    ) -> TraceEvent:
        number = entry["pid"]
        phase = writer.phases.get(number) or self._announce(number, UNKNOWN_PHASE, writer)
        thread = entry.get("tid", number)
        if thread not in phase._threads:  # noqa: SLF001 - smdebug's name, which scripts read
            phase.add_thread(thread, f"{node}_{entry.get('tid', 0)}")
        arguments = arguments or None
        return TraceEvent(
            start + writer.base_us,
            entry["name"],
            duration,
            number,
            thread,
            arguments,
            node,
            "X",
            self.type,
            phase.name,
            (arguments or {}).get("pid", number),
            (arguments or {}).get("thread_id", thread),
            phase,
        )

    # --- queries -----------------------------------------------------------------------------------------------------

    def get_all_events(self) -> list[TraceEvent]:
        """Return all events, in file order."""
        return self._trace_events

    def get_events_start_time_sorted(self) -> list[TraceEvent]:
        """Return all events, sorted by their start."""
        return sorted(self._trace_events, key=lambda event: event.start_time)

    def get_events_end_time_sorted(self) -> list[TraceEvent]:
        """Return all events, sorted by their end."""
        return sorted(self._trace_events, key=lambda event: event.end_time)

    def get_events_within_time_range(
        self, start_time: float, end_time: float, unit: TimeUnits = TimeUnits.MICROSECONDS
    ) -> list[TraceEvent]:
        """Return the events that overlap a range, both ends inclusive.

        Args:
            start_time: Start since 1970.
            end_time: End since 1970.
            unit: Unit of both times.
        """
        start_us, end_us = (convert_utc_timestamp_to_microseconds(time, unit) for time in (start_time, end_time))
        return [event for event in self._trace_events if event.end_time >= start_us and event.start_time <= end_us]

    def get_events_within_range(self, start_time: dt.datetime, end_time: dt.datetime) -> list[TraceEvent]:
        """Return the events that overlap a range of dates and times."""
        return self.get_events_within_time_range(
            convert_utc_datetime_to_microseconds(start_time), convert_utc_datetime_to_microseconds(end_time)
        )

    def get_process_info(self, process_id: int) -> ProcessInfo:
        """Return the phase of a number, as the latest file announced it.

        Raises:
            KeyError: No file announced that number.
        """
        return self._processes[process_id]

    def get_processes(self) -> dict[int, ProcessInfo]:
        """Return the phases by number, as the latest file announced them."""
        return self._processes

    def clear_events(self) -> None:
        """Forget all events, but not the names of phases."""
        self._trace_events = []
