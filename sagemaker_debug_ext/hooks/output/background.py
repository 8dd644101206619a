"""Run write jobs on a background thread, within bounded memory."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

LOG = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
"""Time between two looks whether the writing thread still lives."""


class _Job(NamedTuple):
    run: Callable[[], object]
    num_bytes: int


class BackgroundWriter:
    """Runs write jobs in order on a background thread.

    Queued jobs hold their data in memory. If a new job would exceed the limit, `submit` blocks until enough jobs are
    done. Slow storage therefore slows training down, but does not fill the memory. A single job above the limit waits
    for all others. The first job that fails ends the writing: all queued and later jobs are dropped.

    The thread starts with the first job and never keeps the process alive. If it cannot start, or ends before its time,
    whoever waits for it runs the jobs itself. At no time do two threads run jobs.

    Ctrl-C may come between any two steps of the script's thread. `threading.Condition`, written in Python, would then
    keep its lock for ever. That thread therefore waits for plain locks only, and wakes the writing thread by a queue.

    Args:
        memory_limit_bytes: The most bytes of queued jobs.
        on_failure: Called once, on the writing thread, with the error of the job that failed.
    """

    def __init__(self, memory_limit_bytes: int, on_failure: Callable[[Exception], object]) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        self._on_failure = on_failure
        self._jobs: deque[_Job] = deque()
        self._held_bytes = 0
        self._lock = threading.RLock()
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiters: deque[threading.Lock] = deque()
        self._runner: object | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failed = False
        self._num_dropped = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the queued and running jobs."""
        return self._held_bytes

    def submit(self, run: Callable[[], object], num_bytes: int = 0, wait: bool = True) -> bool:
        """Queue a job; blocks while the limit leaves no room.

        Args:
            run: What to do.
            num_bytes: Memory that the job holds until it is done.
            wait: Whether to block at all.

        Returns:
            False if there was no room, and no wait.
        """
        while True:
            with self._lock:
                if self._failed:
                    self._num_dropped += 1
                    return True
                if not (num_bytes and self._held_bytes) or self._held_bytes + num_bytes <= self._memory_limit_bytes:
                    self._jobs.append(_Job(run, num_bytes))
                    self._held_bytes += num_bytes
                    self._wakeups.put(None)
                    if not self._has_writer():
                        self._start()
                    return True
                change = self._next_change()
            if not wait:
                return False
            self._wait(change)

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything submitted so far is done, or writing has failed; return False on time-out."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            with self._lock:
                if not self._jobs:  # empty only after the last job, because a running job stays at its head
                    return True
                change = self._next_change()
            left = _LOOK_SECONDS if deadline is None else min(deadline - time.monotonic(), _LOOK_SECONDS)
            if left <= 0:
                return False
            self._wait(change, left)

    def close(self) -> None:
        """Run the queued jobs and end the thread; nothing may be submitted afterwards."""
        self.flush()
        self._closed = True
        while self._thread is not None and self._has_writer():
            self._wakeups.put(None)
            self._thread.join(_LOOK_SECONDS)
        if self._num_dropped:
            with contextlib.suppress(Exception):  # of a logging handler; the end of the trial is more important
                LOG.warning("%d steps and other files were lost when writing failed", self._num_dropped)

    def _next_change(self) -> threading.Lock:
        """Return a lock that is released at the next change; called while nothing changes."""
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        return waiter

    def _tell_of_change(self) -> None:
        while self._waiters:
            self._waiters.popleft().release()

    def _wait(self, change: threading.Lock, seconds: float = _LOOK_SECONDS) -> None:
        """Wait for a change; run the jobs here if no thread does."""
        if self._has_writer() or self._runner is not None:
            self._wakeups.put(None)  # an interruption may have come between a job and its wake-up
            change.acquire(timeout=seconds)
        else:
            self._work_off()

    def _has_writer(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="sagemaker_debug_ext writer", daemon=True)
        # Kept before the start, because an interruption may come when the thread is running already.
        self._thread = thread
        with contextlib.suppress(RuntimeError, MemoryError):  # no thread is left, or the interpreter is shutting down
            thread.start()

    def _run(self) -> None:
        while self._thread is threading.current_thread() and not (self._closed and not self._jobs):
            self._wakeups.get()
            self._work_off()
        self._wakeups.put(None)  # for the thread that takes over if this one seemed not to start

    def _work_off(self) -> None:
        """Run the queued jobs, unless another thread does."""
        runner = object()
        try:
            with self._lock:
                if self._runner is None:
                    self._runner = runner
            if self._runner is runner:
                self._run_jobs()
        finally:
            if self._runner is runner:
                self._runner = None

    def _run_jobs(self) -> None:
        while self._jobs:
            job = self._jobs[0]
            try:
                job.run()
            except BaseException as error:
                with contextlib.suppress(BaseException):  # raised by a logging handler; nobody is left to hear it
                    self._fail(error)
                if isinstance(error, Exception) or self._thread is threading.current_thread():
                    return
                raise  # an interruption belongs to the script, on whose thread this ran
            with self._lock:
                self._jobs.popleft()
                self._held_bytes = self._held_bytes - job.num_bytes if self._jobs else 0
                self._tell_of_change()
            del job  # a job holds its step's tensors; do not keep them while waiting for the next

    def _fail(self, error: BaseException) -> None:
        """Drop all jobs, even if reporting the error fails, as with a logging handler that raises."""
        try:
            self._on_failure(error if isinstance(error, Exception) else RuntimeError(f"writing was ended by {error!r}"))
        finally:
            with self._lock:
                self._failed = True
                self._num_dropped += len(self._jobs)
                self._jobs.clear()
                self._held_bytes = 0
                self._tell_of_change()
