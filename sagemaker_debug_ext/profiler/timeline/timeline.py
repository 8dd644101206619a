"""`Timeline`: takes events from training threads, and has a thread of its own write them."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sagemaker_debug_ext.profiler.timeline.step_timer import Event, alone
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan

_LOG: Final = logging.getLogger(__name__)
FLUSH_SECONDS: Final = 1.0
"""Readers of a running job see events that are at most this old."""

_MAX_WAITING: Final = 200_000
"""Events that may wait to be written; further ones are dropped and counted."""

_NO_ARGUMENTS: Final[Mapping[str, Any]] = {}
_ALL_ERRORS: Final = (Exception,)


class Timeline:
    """Events of this process, which a thread writes every second.

    Methods may be called from any thread. A forked child begins a timeline of its own with its first event.

    Args:
        folder: The folder ``profiler-output``.
        make_writer: Makes the writer of a process, from the time its files count from, in microseconds since 1970.

    Attributes:
        folder: The folder ``profiler-output``.
        num_dropped: Events that were dropped because too many waited.
    """

    def __init__(self, folder: str, make_writer: Callable[[int], TraceFileWriter]) -> None:
        self.folder = folder
        self._make_writer = make_writer
        self._every_second: list[Callable[[], object]] = []
        self._before_end: list[Callable[[], object]] = []
        self._has_ended = False
        self.num_dropped = 0
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Begin without events, in this process."""
        self._offset_us = (time.time_ns() - time.perf_counter_ns()) / 1000
        self._events: deque[tuple[Callable[..., Iterable[Event]], tuple[Any, ...]]] = deque()
        self._writer: TraceFileWriter | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._lock = threading.Lock()  # guards the start of the thread, and writing
        self._base_us = int(self._offset_us + time.perf_counter_ns() / 1000)

    def add(
        self, phase: str, name: str, start_ns: int, end_ns: int, arguments: Mapping[str, Any] = _NO_ARGUMENTS
    ) -> None:
        """Add an event.

        Args:
            phase: What kind of event it is, such as ``Step:ModeKeys.TRAIN``.
            name: Its name.
            start_ns: Start, as `time.perf_counter_ns` has it.
            end_ns: End, likewise.
            arguments: Further facts.
        """
        self.defer(alone, phase, name, start_ns, end_ns, arguments)

    def defer(self, events: Callable[..., Iterable[Event]], *arguments: Any) -> None:
        """Add the events that a function returns; the writing thread calls it.

        Args:
            events: The function.
            *arguments: Its arguments, which must not change any more.
        """
        if len(self._events) >= _MAX_WAITING or self._has_ended:
            self.num_dropped += 1
            return
        self._events.append((events, arguments))
        if self._thread is None:
            self._start()

    def to_clock(self, seconds: float) -> int:
        """Return the reading of `time.perf_counter_ns` at a time in seconds since 1970."""
        return int((seconds * 1e6 - self._offset_us) * 1000)

    def every_second(self, function: Callable[[], object]) -> None:
        """Register a function that the writing thread calls about once a second, until the process ends."""
        self._every_second.append(function)

    def before_end(self, function: Callable[[], object]) -> None:
        """Register a function that `stop` calls first, and that may add events."""
        self._before_end.append(function)

    def publish(self) -> None:
        """Write the events that wait, and give the open file its final name; later events begin another file."""
        with self._lock:
            writer = self._writer
            if writer is not None and not self._has_ended:
                writer.write(self._take())
                writer.close()

    def stop(self) -> None:
        """Write all events, and end the timeline."""
        if self._has_ended or self._wake.is_set():
            return
        for function in self._before_end:
            function()
        self._wake.set()
        thread = self._thread
        if thread is None:
            self._has_ended = True
        elif thread is not threading.current_thread():
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._has_ended:
                self._writer = self._make_writer(self._base_us)
                self._thread = threading.Thread(target=self._run, name="profiler-timeline", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
                processes = sys.modules.get("multiprocessing.util")
                if processes is not None:  # whose children do not run what is registered with atexit
                    processes.Finalize(None, self.stop, exitpriority=0)

    def _run(self) -> None:
        writer = self._writer
        assert writer is not None
        is_last = False
        while not is_last:
            is_last = self._wake.wait(FLUSH_SECONDS)
            try:
                for function in self._every_second:
                    function()
                self._has_ended = is_last  # not before: these functions may add events
                with self._lock:
                    writer.write(self._take())
                    writer.close_if_older(int(self._offset_us + time.perf_counter_ns() / 1000))
            except _ALL_ERRORS:  # whatever it is, training goes on without a timeline
                _LOG.warning("steps are no longer timed", exc_info=True)
                self._has_ended = True
                return
        writer.close()
        if self.num_dropped + writer.num_dropped:
            _LOG.warning("%d trace events were not written", self.num_dropped + writer.num_dropped)

    def _take(self) -> list[TraceSpan]:
        """Return the events that wait."""
        offset_us, pid = self._offset_us, os.getpid()
        spans = []
        for _ in itertools.repeat(None, len(self._events)):
            events, given = self._events.popleft()
            for phase, name, start_ns, end_ns, arguments in events(*given):
                start_us = int(offset_us + start_ns / 1000)
                duration_us = max(int(offset_us + end_ns / 1000) - start_us, 0)
                spans.append(TraceSpan(phase, name, start_us, duration_us, {"pid": pid, **arguments}))
        return spans
