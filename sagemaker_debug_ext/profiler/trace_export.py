"""One trace of a whole job for Perfetto: real processes and threads, counters for every sensor, absolute time."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Final, NamedTuple

from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.open_readers import no_data, open_readers
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent
from sagemaker_debug_ext.store.backends.fileio import renamed_at_end

_STEP: Final = "Step:"
_COUNTER_SORT: Final = 1_000_000
"""Viewers show machines below workers."""


class TraceCounts(NamedTuple):
    """Size of a trace: numbers of spans of workers, of values of counters, and of marked findings."""

    spans: int
    counters: int
    findings: int


class Finding(NamedTuple):
    """A span of time that deserves attention.

    Attributes:
        name: Name of the finding, such as that of its rule.
        node: The machine.
        start: Seconds since 1970.
        end: Seconds since 1970.
        facts: Numbers to show with it.
    """

    name: str
    node: str
    start: float
    end: float
    facts: dict[str, Any]


def write_trace(
    path: str | os.PathLike[str], target: str | os.PathLike[str], findings: Sequence[Finding] = ()
) -> TraceCounts:
    """Write the profiler data of a job as one file that Perfetto and chrome://tracing open.

    Each worker is a process with its threads, each machine a process with a counter for every sensor. Times are
    microseconds since 1970. The file is complete or not there at all.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        target: The file to write; it is compressed if its name ends with ``.gz``.
        findings: Spans to mark.

    Raises:
        OSError: The data cannot be read, or the file cannot be written.
        SMDebugValueError: There are no data.
    """
    system, framework = open_readers(path)
    events, rows = framework.get_all_events(), system.get_all_rows()
    if not events and not rows.types:
        raise no_data(path)
    temporary = f"{os.fspath(target)}.tmp"
    os.makedirs(os.path.dirname(os.path.abspath(temporary)), exist_ok=True)
    with renamed_at_end(temporary, target), open(temporary, "wb") as raw, _compressed(raw, target) as file:
        separator = b"[\n"
        for entry in trace_entries(events, rows.rows(), findings):
            file.write(separator + json.dumps(entry, separators=(",", ":")).encode())
            separator = b",\n"
        file.write(b"\n]\n" if separator != b"[\n" else b"[]\n")
    return TraceCounts(len(events), len(rows.types), len(findings))


def _compressed(raw: IO[bytes], target: str | os.PathLike[str]) -> IO[bytes]:
    # Neither name nor time of the file is stored, so that equal data give equal bytes.
    return gzip.GzipFile("", "wb", mtime=0, fileobj=raw) if os.fspath(target).endswith(".gz") else raw  # type: ignore[return-value]


def trace_entries(
    events: Sequence[TraceEvent], rows: Iterable[SystemRow], findings: Sequence[Finding] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the entries of a trace; metadata come before the events that need them."""
    processes = _Processes()
    for event in events:
        # Steps have a thread of their own, since their spans overlap with those of operators on the same thread.
        thread = event.event_phase if event.event_phase.startswith(_STEP) else f"{event.event_phase} {event.tid}"
        pid, tid, metadata = processes.thread_of(event.node_id, thread)
        yield from metadata
        entry = {
            "name": event.event_name,
            "cat": event.event_phase,
            "ph": "X",
            "pid": pid,
            "tid": tid,
            "ts": event.start_time,
            "dur": event.duration,
        }
        if event.event_args:
            entry["args"] = event.event_args
        yield entry
    for row in rows:
        pid, metadata = processes.number_of(f"{row.node} system metrics", _COUNTER_SORT)
        yield from metadata
        name = " ".join(filter(None, (row.name or row.type, row.dimension)))
        yield {"name": name, "ph": "C", "pid": pid, "ts": int(row.timestamp * 1e6), "args": {"value": row.value}}
    for finding in findings:
        pid, tid, metadata = processes.thread_of("findings", finding.node)
        yield from metadata
        start_us, end_us = int(finding.start * 1e6), int(finding.end * 1e6)
        yield {
            "name": finding.name,
            "cat": "finding",
            "ph": "X",
            "pid": pid,
            "tid": tid,
            "ts": start_us,
            "dur": end_us - start_us,
            "args": finding.facts,
        }


class _Processes:
    """Numbers of processes and threads.

    Workers on several machines may have equal process ids, so every worker gets a number, and its name says the id.
    """

    def __init__(self) -> None:
        self._processes: dict[str, int] = {}
        self._threads: dict[tuple[int, str], int] = {}

    def number_of(self, name: str, sort_index: int = 0) -> tuple[int, list[dict[str, Any]]]:
        if name in self._processes:
            return self._processes[name], []
        pid = self._processes[name] = len(self._processes) + 1
        return pid, [
            {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": name}},
            {
                "name": "process_sort_index",
                "ph": "M",
                "pid": pid,
                "tid": 0,
                "args": {"sort_index": sort_index + pid},
            },
        ]

    def thread_of(self, process: str, thread: str) -> tuple[int, int, list[dict[str, Any]]]:
        pid, metadata = self.number_of(process)
        if (pid, thread) in self._threads:
            return pid, self._threads[pid, thread], metadata
        tid = self._threads[pid, thread] = len(self._threads) + 1
        return (
            pid,
            tid,
            [*metadata, {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": thread}}],
        )
