"""Run one command so that none of its processes outlives its job.

`process` starts this file as a separate program between the process that runs the job and the job's entry point. It has
the role of the container on SageMaker: it starts the command in a new session, adopts orphaned processes of the
command, forwards stop requests, and kills all processes when the entry point or the process that runs the job has
ended, for whatever reason.

It imports only the standard library and is started by file name with an isolated interpreter, so that no setting for
the user's script can break it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

LINGER_SECONDS: Final = 2.0
"""Grace period for processes that outlive the entry point, such as multiprocessing's resource tracker, which removes
leaked shared memory."""

_CHECK_SECONDS: Final = 1.0  # between checks of the parent, whose forks may keep the control pipe open
_KILL_AGAIN_SECONDS: Final = 0.1  # between rounds of SIGKILL, for processes that were forked meanwhile

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def _prctl(option: int, value: int) -> None:
    """Call Linux's prctl; other systems lack it and rely on the control pipe alone."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_supervisor() -> None:
    """Make the kernel kill the entry point if this process is killed; runs between fork and exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _parents() -> dict[int, int]:
    """Return the parent of every process; empty on systems without /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended
            # The program name is in parentheses and may contain any character; the state and the parent follow.
            parents[int(stat.parent.name)] = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
    return parents


def _descendants(of: int) -> Iterator[int]:
    """Yield all processes below `of`."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        children.setdefault(parent, []).append(pid)
    waiting = list(children.get(of, ()))
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting.extend(children.get(pid, ()))


class Supervisor:
    """Starts the command, waits for it, and leaves no process behind.

    Args:
        control: File descriptor on which the parent requests a stop with a line ``<grace seconds>``; end of file means
            that the parent has ended.
        report: File descriptor for one JSON object per line: first ``{"pid": …}`` or ``{"error": …}``, last
            ``{"exit": …}`` with the code of the entry point, negative for a signal.
        command: Program and arguments.
    """

    def __init__(self, control: int, report: int, command: list[str]) -> None:
        self._control = control
        self._report_fd = report
        self._command = command
        self._parent = os.getppid()
        self._parent_gone = False
        self._main = 0
        self._exit_code: int | None = None
        self._stopping = False
        self._deadline: float | None = None  # time at which the remaining processes are killed

    def run(self) -> int:
        """Run the command until it ends and return 0, or 127 if it could not be started."""
        signals = self._listen()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._command,
                start_new_session=True,
                preexec_fn=_die_with_supervisor,  # noqa: PLW1509 - this process has one thread
            )
        except OSError as error:
            self._report(error=f"{error.strerror}: {self._command[0]!r}")
            return 127
        self._main = process.pid
        self._report(pid=process.pid)
        while not (self._reap() and self._exit_code is not None):
            self._wait(signals)
        process.returncode = self._exit_code  # set here, because _reap has reaped the process
        self._report(exit=self._exit_code)
        return 0

    def _listen(self) -> int:
        """Route signals to a file descriptor and return it, so that one call can wait for all events."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return read

    def _report(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # the parent has ended, so nobody reads this
            os.write(self._report_fd, json.dumps(facts).encode() + b"\n")

    def _reap(self) -> bool:
        """Reap processes that have ended; return whether none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self._signal_group(0)
            if pid == 0:
                return False
            if pid == self._main:
                self._exit_code = os.waitstatus_to_exitcode(status)
                self._main_ended()

    def _main_ended(self) -> None:
        if self._stopping:
            self._signal_group(signal.SIGTERM)  # a shell ends at once; its children get the same grace period now
        else:
            self._deadline = time.monotonic() + LINGER_SECONDS

    def _wait(self, signals: int) -> None:
        """Wait for an event, and handle it."""
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._kill()
            self._deadline = now + _KILL_AGAIN_SECONDS
        timeout = _CHECK_SECONDS if self._deadline is None else min(_CHECK_SECONDS, self._deadline - now)
        watched = [signals] if self._parent_gone else [signals, self._control]
        ready, _, _ = select.select(watched, [], [], max(0.0, timeout))
        if signals in ready and {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & set(os.read(signals, 512)):
            self._stop(0.0)
        if self._control in ready:
            self._obey(os.read(self._control, 512))
        if not self._parent_gone and os.getppid() != self._parent:
            self._obey(b"")

    def _obey(self, message: bytes) -> None:
        if message:
            self._stop(float(message.split()[-1]))
        else:
            self._parent_gone = True
            self._deadline = time.monotonic()

    def _stop(self, grace_seconds: float) -> None:
        """Ask the entry point to shut down, as SageMaker does; other processes get the same grace period.

        Without one, all are killed without being asked.
        """
        self._stopping = True
        deadline = time.monotonic() + grace_seconds
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        if self._exit_code is None and grace_seconds > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._main, signal.SIGTERM)

    def _signal_group(self, number: int) -> bool:
        """Send a signal to the command's process group; return whether the group has a process."""
        try:
            os.killpg(self._main, number)
        except (ProcessLookupError, PermissionError):  # macOS raises the latter for a group of zombies
            return False
        return True

    def _kill(self) -> None:
        self._signal_group(signal.SIGKILL)
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Run ``supervisor.py <control descriptor> <report descriptor> <command> [<argument> …]``."""
    return Supervisor(int(arguments[0]), int(arguments[1]), arguments[2:]).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
