"""What runs beside a self-managed job: the profiler of each worker, and the watcher of the first one.

The watcher evaluates the rules of the job. It is a separate process, so that rules do not compete with training for the
interpreter. An error of the watcher is logged once, and training goes on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.config.job_spec import STOP_KEY, JobProfile, WatchOptions
from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks.process.fork import fork_token
from sagemaker_debug_ext.hooks.process.profiling import JobProfiling
from sagemaker_debug_ext.store.backends import open_backend

LOG = logging.getLogger(__name__)

WATCHER_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_WATCHER"
"""Set for the watcher and its children, so that a hook in them does not start another watcher."""

_PROGRAM: Final = "import sys; sys.path.pop(0); from sagemaker_debug_ext.watch.program import main; sys.exit(main())"
"""The program drops the current folder from the import path, because modules there may shadow installed ones."""

STOPPED_EXIT_CODE: Final = 3
"""Exit code of a training process that ends because a rule asks to stop."""

_MEANT_EXITS: Final = (0, 2, 3, -signal.SIGTERM)
"""All is evaluated, there is nothing to watch, another watcher has taken over, and somebody has ended it."""

_CLOSED: Final = b"\n"
"""Sent to the watcher when training has ended, which then looks for the last steps at once."""

_NICENESS: Final = 10

_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class WatcherProcess:
    """Starts the profiler and the watcher, receives requests to stop training, and ends both with training."""

    def __init__(self) -> None:
        self.should_stop = False
        """Whether a rule has asked to stop training, which is left to the script."""
        self.must_exit = False
        """Whether a rule has asked to stop training, and the process has to end."""
        self._on_exit: Callable[[], object] | None = None
        self._options: WatchOptions | None = None
        self._stop_location: str | None = None
        self._requests: threading.Thread | None = None
        self._profiling = JobProfiling()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()
        self._may_replace = True
        self._fork_token = fork_token()

    def configure(
        self,
        options: WatchOptions | None,
        profile: JobProfile | None = None,
        stop_location: str | None = None,
        on_exit: Callable[[], object] | None = None,
    ) -> None:
        """Start the profiler, and choose how to watch.

        Args:
            options: The settings of the watcher; None starts none.
            profile: How to profile; None does not. A process that belongs to a watcher is not profiled.
            stop_location: Where a watcher elsewhere asks to stop; None if it does not.
            on_exit: Called from another thread when `must_exit` is set; None sets `should_stop` in its place.
        """
        self._options = options
        self._stop_location = stop_location
        self._on_exit = on_exit
        if profile is not None and WATCHER_VARIABLE not in os.environ:
            self._profiling.start(profile)

    def move(self) -> None:
        """Belong to this forked child; the profiler stays with the process that started it."""
        self._profiling = JobProfiling()
        self._fork_token = fork_token()

    def start(self) -> None:
        """Start the watcher, unless it has been started or this process belongs to one."""
        if self._options is None or self._process is not None or WATCHER_VARIABLE in os.environ:
            return
        if self._options.place != "container":
            self._look_for_requests(self._options.poll_seconds)
            return
        try:
            self._launch(self._options)
        except (OSError, MemoryError, RuntimeError) as error:
            LOG.warning("no rule is evaluated, because the watcher cannot be started: %s", error)

    def drain(self, limit_seconds: float | None = None) -> None:
        """End the profiler, and wait until the watcher has evaluated the last data and exits.

        Args:
            limit_seconds: Maximum time if it is shorter than `drain_seconds` of the settings; 0 does not wait.
        """
        if fork_token() is not self._fork_token:
            return
        self._profiling.stop()
        with self._lock:
            self._may_replace = False
            process, connection = self._process, self._connection
        if self._options is None or process is None or connection is None:
            return
        with contextlib.suppress(OSError):  # the watcher has ended
            connection.sendall(_CLOSED)
        seconds = min(self._options.drain_seconds, float("inf") if limit_seconds is None else limit_seconds)
        if not seconds:
            return
        begun = time.monotonic()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            LOG.warning("the rules are still being evaluated after %g seconds: training does not wait longer", seconds)
            return
        waited = time.monotonic() - begun
        if process.returncode:
            LOG.warning("the watcher of the rules ended with exit code %d", process.returncode)
        elif waited > 1:
            LOG.info("waited %.1f seconds for the last rules", waited)

    def _launch(self, options: WatchOptions, *words: str) -> None:
        ours, theirs = socket.socketpair()
        parent, hook = str(os.getpid()), str(theirs.fileno())
        command = [sys.executable, "-c", _PROGRAM, "--parent", parent, "--hook", hook, *words]
        try:
            process = self._process = subprocess.Popen(  # noqa: S603 - this interpreter and this package
                command,
                env=_environment(options.num_threads),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, MemoryError):
            ours.close()
            raise
        finally:
            theirs.close()
        self._connection = ours
        with contextlib.suppress(OSError):  # from the start, because its imports take most of its processor time
            os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)
        arguments = (ours, process, options)
        threading.Thread(target=self._take_requests, args=arguments, name="watcher-requests", daemon=True).start()

    def _look_for_requests(self, seconds: float) -> None:
        """Start to look for the request of a watcher that runs elsewhere."""
        if self._stop_location is None or self._requests is not None:
            return
        location = self._stop_location
        self._requests = threading.Thread(
            target=self._wait_for_request, args=(location, seconds), name="watcher-requests", daemon=True
        )
        self._requests.start()

    def _wait_for_request(self, location: str, seconds: float) -> None:
        content = None
        has_failed = False
        while content is None:
            time.sleep(seconds)
            try:
                content = open_backend(location).read(STOP_KEY)
            except (OSError, DebugExtError) as error:
                if not has_failed:
                    LOG.warning("requests to stop training cannot be read: %s", error)
                has_failed = True
        self._ask_to_stop(json.loads(bytes(content)).get("rule", ""))

    def _ask_to_stop(self, rule: str) -> None:
        LOG.warning("rule %s asks to stop training", rule)
        if self._on_exit is None:
            self.should_stop = True
        else:
            self.must_exit = True
            self._on_exit()

    def _take_requests(self, ours: socket.socket, process: subprocess.Popen[bytes], options: WatchOptions) -> None:
        """Read the requests of the watcher until it ends; each is one line with the name of a rule."""
        with ours, ours.makefile() as lines, contextlib.suppress(ConnectionError):
            for line in lines:
                self._ask_to_stop(line.strip())
        self._replace(process, options)

    def _replace(self, process: subprocess.Popen[bytes], options: WatchOptions) -> None:
        """Start another watcher, once, if this one has died while training goes on."""
        exit_code = process.wait()
        with self._lock:
            if not self._may_replace or exit_code in _MEANT_EXITS:
                return
            self._may_replace = False
            LOG.warning("the watcher of the rules ended with exit code %d; another one is started", exit_code)
            try:
                self._launch(options, "--replaces", str(process.pid))
            except (OSError, MemoryError, RuntimeError) as error:
                LOG.warning("no rule is evaluated any more, because it cannot be started: %s", error)


def _environment(num_threads: int) -> dict[str, str]:
    limits = dict.fromkeys(_THREAD_VARIABLES, str(num_threads))
    # The script may have found this package because it changed sys.path, which children do not inherit.
    places = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, places)), "CUDA_VISIBLE_DEVICES": "", WATCHER_VARIABLE: "1"}
    return {**os.environ, **limits, **own}
