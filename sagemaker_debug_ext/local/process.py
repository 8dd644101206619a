"""The entry point of a job as a local process, with all of its child processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.local import supervisor
from sagemaker_debug_ext.local.description import MAX_REASON_LENGTH, shorten
from sagemaker_debug_ext.local.layout import JobFolder

_TAIL_BYTES: Final = 16_384


class JobProcess:
    """A command and its child processes, which end with the process that created this object.

    A supervisor process runs between the two (see `supervisor`), so killing this process, even with SIGKILL, leaves no
    process running. Methods may be called from any thread, but not concurrently.

    Args:
        command: Program and arguments.
        cwd: Folder to run it in.
        environment: All environment variables.
        stdout: File for its standard output.
        stderr: File for its standard error output.

    Raises:
        SMDebugRuntimeError: The command cannot be started.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stdout: Path, stderr: Path
    ) -> None:
        control_read, self._control = os.pipe()
        report_read, report_write = os.pipe()
        self._exit_code: int | None = None
        with contextlib.ExitStack() as own_ends, contextlib.ExitStack() as other_ends:
            for descriptor in (self._control, report_read):
                own_ends.callback(os.close, descriptor)
            for descriptor in (control_read, report_write):
                other_ends.callback(os.close, descriptor)
            with stdout.open("ab") as out, stderr.open("ab") as err:
                self._supervisor = subprocess.Popen(  # noqa: S603 - our own program and the user's own command
                    [sys.executable, "-I", "-S", supervisor.__file__, str(control_read), str(report_write), *command],
                    cwd=cwd,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(control_read, report_write),
                    start_new_session=True,
                )
            own_ends.pop_all()  # kept open, because the process has started
        self._report = os.fdopen(report_read, encoding="utf-8")
        self.pid: Final = self._started()

    def _started(self) -> int:
        """Return the entry point's process ID, which is also that of its process group."""
        report = json.loads(self._report.readline() or '{"error": "its supervisor did not start"}')
        if "pid" in report:
            return int(report["pid"])
        self._supervisor.wait()
        self._close()
        raise SMDebugRuntimeError(f"the entry point could not be started: {report['error']}")

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the entry point or a child process runs."""
        if self._exit_code is None and self._supervisor.poll() is not None:
            self._exit_code = self._collect()
        return self._exit_code

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait up to `timeout` seconds, or without limit, and return the result of `poll`."""
        if self._exit_code is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._supervisor.wait(timeout)
        return self.poll()

    def stop(self, grace_seconds: float) -> None:
        """Ask the entry point to shut down with SIGTERM; kill all remaining processes after `grace_seconds`.

        With 0 seconds, they are killed without being asked.
        The call does not wait. Further calls can only shorten the grace period.
        """
        if self.poll() is None:
            with contextlib.suppress(BrokenPipeError):  # the supervisor has just ended
                os.write(self._control, f"{grace_seconds}\n".encode())

    def _collect(self) -> int:
        reports = [json.loads(line) for line in self._report]
        self._close()
        for report in reports:
            if "exit" in report:
                return int(report["exit"])
        # The supervisor was killed. The kernel has killed the entry point with it, but not its child processes.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return -signal.SIGKILL

    def _close(self) -> None:
        os.close(self._control)
        self._report.close()


def describe_exit(code: int) -> str:
    """Describe how a process ended: ``exit code 1`` or ``signal SIGKILL``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def failure_reason(folder: JobFolder, code: int) -> str:
    """Return why an entry point failed: its failure file if it wrote one, else the last lines of its output."""
    how = f"AlgorithmError: {describe_exit(code)}"
    try:
        own_words = folder.failure.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        own_words = ""
    if own_words:
        return shorten(f"{how}: {own_words}")
    for path in (folder.stderr, folder.stdout):
        printed = tail(path)
        if printed:
            head = f"{how}, last lines of {path.name}:\n"
            return head + shorten(printed, MAX_REASON_LENGTH - len(head), keep_end=True)
    return f"{how}, nothing was printed"


def tail(path: Path, lines: int = 20) -> str:
    """Return the last lines of a text file that may be large; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(_shown(line) for line in text.rstrip().split("\n")[-lines:])


def _shown(line: str) -> str:
    """Return the final state of a line that a progress bar has overwritten."""
    return line.rstrip("\r").rpartition("\r")[2]


class LineReader:
    """Reads whole lines from a text file while another process appends to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""

    def read(self, last: bool = False) -> Iterator[str]:
        """Yield the lines that have been completed since the last call.

        Args:
            last: Whether the file is complete, so that an unterminated line is yielded, too.
        """
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        self._position += len(data)
        *complete, self._rest = (self._rest + data).split(b"\n")
        if last and self._rest:
            complete.append(self._rest)
            self._rest = b""
        for line in complete:
            yield _shown(line.decode(errors="replace"))
