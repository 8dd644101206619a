"""Writes trace events in files that are closed once a minute (profiler format, section 1.3).

The open file is ``framework/<node>_<suffix>.tmp``. A file that is closed has its final name, which says when its last
event ended.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final, NamedTuple

import attrs

from sagemaker_debug_ext.profiler.format.file_names import FRAMEWORK_PREFIX, trace_file_key
from sagemaker_debug_ext.profiler.profiler_constants import (
    CLOSE_FILE_INTERVAL_DEFAULT,
    FILE_OPEN_FAIL_THRESHOLD_DEFAULT,
    MAX_FILE_SIZE_DEFAULT,
    PYTHONTIMELINE_SUFFIX,
)

_LOG: Final = logging.getLogger(__name__)
_OPEN_SUFFIX: Final = ".tmp"
_END: Final = b"\n]"


class TraceSpan(NamedTuple):
    """An event with a length.

    Attributes:
        phase: What kind of event it is, such as ``Step:ModeKeys.TRAIN``.
        name: Its name.
        start_us: Microseconds since 1970.
        duration_us: Microseconds.
        arguments: Further facts, such as ``step_num``.
    """

    phase: str
    name: str
    start_us: int
    duration_us: int
    arguments: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class TraceFileSettings:
    """How trace files are closed, and when their writer gives up.

    Args:
        close_seconds: A file is closed when it holds events of more than that many seconds.
        max_bytes: A file is closed when it is larger.
        max_failures: After that many failures in a row nothing is written any more.
    """

    close_seconds: float = float(CLOSE_FILE_INTERVAL_DEFAULT)
    max_bytes: int = MAX_FILE_SIZE_DEFAULT
    max_failures: int = FILE_OPEN_FAIL_THRESHOLD_DEFAULT


class TraceFileWriter:
    """Writes the events of one worker; used by one thread at a time.

    Events that cannot be written are dropped and counted, so that training neither waits nor fails.

    Args:
        folder: The folder ``profiler-output``.
        node: ``<rank or process id>-<host>``.
        base_us: Time from which the files count, in microseconds since 1970.
        suffix: Kind of the files.
        settings: When files are closed.

    Attributes:
        num_dropped: Events that were not written.
    """

    def __init__(
        self,
        folder: str,
        node: str,
        base_us: int,
        suffix: str = PYTHONTIMELINE_SUFFIX,
        settings: TraceFileSettings | None = None,
    ) -> None:
        self._folder = folder
        self._node = node.replace("_", "-")
        self._base_us = base_us
        self._suffix = suffix
        self.settings = settings or TraceFileSettings()
        self._file: IO[bytes] | None = None
        self._size = 0
        self._first_end_us = self._last_end_us = 0
        self._phases: dict[str, int] = {}
        self._announced: set[str] = set()
        self._num_failures = 0
        self.num_dropped = 0

    @property
    def open_path(self) -> str:
        """The file that is being written."""
        return os.path.join(self._folder, FRAMEWORK_PREFIX, f"{self._node}_{self._suffix}{_OPEN_SUFFIX}")

    def write(self, spans: Iterable[TraceSpan]) -> None:
        """Append events, and close files that are full."""
        waiting: list[TraceSpan] = []
        first_end_us = self._first_end_us
        for span in spans:
            end_us = span.start_us + span.duration_us
            first_end_us = first_end_us or end_us
            if end_us - first_end_us > self.settings.close_seconds * 1e6:
                self._append(waiting)
                self.close()
                waiting, first_end_us = [], end_us
            waiting.append(span)
        self._append(waiting)
        if self._size > self.settings.max_bytes:
            self.close()

    def close_if_older(self, now_us: int) -> None:
        """Close a file whose first event ended long enough ago, so that readers need not wait for more events."""
        if self._file is not None and now_us - self._first_end_us > self.settings.close_seconds * 1e6:
            self.close()

    def close(self) -> None:
        """Give the open file its final form and name; a no-op if there is none."""
        file, self._file = self._file, None
        self._size = 0
        if file is None:
            return
        try:
            with file:
                file.write(_END)
            self._publish()
        except OSError as error:
            _LOG.warning("trace events of %s cannot be completed: %s", self.open_path, error)
        self._first_end_us = self._last_end_us = 0

    def _append(self, spans: list[TraceSpan]) -> None:
        if not spans:
            return
        if self._num_failures >= self.settings.max_failures:
            self.num_dropped += len(spans)
            return
        try:
            if self._file is None:
                self._open()
            self._write_all(b"".join(self._lines(spans)))
        except OSError as error:
            if not self._num_failures:
                _LOG.warning("trace events cannot be written to %s: %s", self.open_path, error)
            self._num_failures += 1
            self.num_dropped += len(spans)
            self._announced.clear()  # what was announced with these events is to be announced again
            return
        self._num_failures = 0
        ends = [span.start_us + span.duration_us for span in spans]
        self._first_end_us = self._first_end_us or ends[0]
        self._last_end_us = max(self._last_end_us, *ends)

    def _open(self) -> None:
        path = self.open_path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):  # of a process that was killed, and had the same rank
            complete_remainder(path, self._folder, self._node, self._suffix)
        self._announced.clear()
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - open until the file is full
        self._size = 0
        self._write_all(
            b"[\n"
            + _entry("process_name", 0, "M", args={"start_time_since_epoch_in_micros": self._base_us})
            + b",\n"
            + _entry("process_sort_index", 0, "M", args={"sort_index": 0})
        )

    def _write_all(self, content: bytes) -> None:
        """Append to the open file; if that fails, the file is as it was before."""
        assert self._file is not None
        try:
            view = memoryview(content)
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise
        self._size += len(content)

    def _lines(self, spans: Iterable[TraceSpan]) -> Iterable[bytes]:
        for span in spans:
            # Number 0 stands for the file's own metadata.
            number = self._phases.setdefault(span.phase, len(self._phases) + 1)
            if span.phase not in self._announced:
                self._announced.add(span.phase)
                yield b",\n" + _entry("process_name", number, "M", args={"name": span.phase})
                yield b",\n" + _entry("process_sort_index", number, "M", args={"sort_index": number})
            yield b",\n" + _entry(
                span.name, number, "X", ts=span.start_us - self._base_us, dur=span.duration_us, args=span.arguments
            )

    def _publish(self) -> None:
        _publish(self.open_path, self._folder, self._node, self._suffix, self._last_end_us)


def complete_remainder(path: str, folder: str, node: str, suffix: str) -> None:
    """Give an open file that its process left behind its final form and name.

    Raises:
        OSError: It cannot be read or renamed.
    """
    from sagemaker_debug_ext.profiler.format.trace_remainder import load_remainder  # noqa: PLC0415 - after a kill only

    with open(path, "rb") as file:
        entries = load_remainder(file.read())
    ends = [entry["ts"] + entry["dur"] for entry in entries if entry.get("ph") == "X"]
    if not ends:
        os.unlink(path)
        return
    base_us = next(
        (
            entry["args"]["start_time_since_epoch_in_micros"]
            for entry in entries
            if "start_time_since_epoch_in_micros" in (entry.get("args") or {})
        ),
        0,
    )
    content = b"[\n" + b",\n".join(json.dumps(entry).encode() for entry in entries) + _END
    completed = f"{path}.part"
    with open(completed, "wb") as file:
        file.write(content)
    os.replace(completed, path)
    _publish(path, folder, node, suffix, base_us + max(ends))


def _publish(path: str, folder: str, node: str, suffix: str, end_us: int) -> None:
    """Rename a complete file to its final name; one of the same name is never replaced."""
    while True:
        final = os.path.join(folder, trace_file_key(end_us, node, suffix))
        if not os.path.exists(final):
            break
        end_us += 1
    os.makedirs(os.path.dirname(final), exist_ok=True)
    os.replace(path, final)


def _entry(name: str, number: int, kind: str, **members: Any) -> bytes:
    return json.dumps({"name": name, "pid": number, "ph": kind, **members}).encode()
