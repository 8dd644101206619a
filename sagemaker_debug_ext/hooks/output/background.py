"""Run write jobs on a background thread, within bounded memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple


class _Job(NamedTuple):
    run: Callable[[], object]
    num_bytes: int


class BackgroundWriter:
    """Runs write jobs in order on a background thread.

    Queued jobs hold their data in memory. If a new job would exceed the limit, `submit` blocks until enough jobs are
    done. Slow storage therefore slows training down, but does not fill the memory. A single job above the limit waits
    for all others. The first job that fails ends the writing: all queued and later jobs are dropped.

    The thread starts with the first job and never keeps the process alive.

    Args:
        memory_limit_bytes: The most bytes of queued jobs.
        on_failure: Called once, on the writing thread, with the error of the job that failed.
    """

    def __init__(self, memory_limit_bytes: int, on_failure: Callable[[Exception], object]) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        self._on_failure = on_failure
        self._jobs: deque[_Job] = deque()
        self._held_bytes = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failed = False

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
        with self._changed:
            while num_bytes and self._held_bytes and not self._has_room(num_bytes) and not self._failed:
                if not wait:
                    return False
                self._changed.wait()
            if self._failed:
                return True
            self._jobs.append(_Job(run, num_bytes))
            self._held_bytes += num_bytes
            self._changed.notify_all()
            if self._thread is None and self._start():
                return True
        if self._thread is None:
            self._work_off()
        return True

    def _has_room(self, num_bytes: int) -> bool:
        return self._held_bytes + num_bytes <= self._memory_limit_bytes

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything submitted so far is done, or writing has failed; return False on time-out."""
        with self._changed:
            # The queue is empty only after the last job, because a running job stays at its head.
            return self._changed.wait_for(lambda: not self._jobs, timeout_seconds)

    def close(self) -> None:
        """Run the queued jobs and end the thread; nothing may be submitted afterwards."""
        self.flush()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> bool:
        thread = threading.Thread(target=self._run, name="sagemaker_debug_ext writer", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down and starts no more threads
            return False
        self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return
            self._work_off()

    def _work_off(self) -> None:
        while self._jobs:
            job = self._jobs[0]
            try:
                job.run()
            except Exception as error:  # noqa: BLE001 - any error must be logged and must not end the thread
                self._fail(error)
                return
            with self._changed:
                self._jobs.popleft()
                self._held_bytes -= job.num_bytes
                self._changed.notify_all()
            del job  # a job holds its step's tensors; do not keep them while waiting for the next

    def _fail(self, error: Exception) -> None:
        self._on_failure(error)
        with self._changed:
            self._failed = True
            self._jobs.clear()
            self._held_bytes = 0
            self._changed.notify_all()
