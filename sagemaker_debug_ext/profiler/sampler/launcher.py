"""Starts one sampler per machine, starts it again if it is killed, and tells it how the job ended."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import logging
import os
import subprocess
import sys
import threading
from types import TracebackType
from typing import Final

from sagemaker_debug_ext.errors import MissingDependencyError
from sagemaker_debug_ext.profiler.sampler.election import exclusive_lock
from sagemaker_debug_ext.profiler.sampler.settings import SamplerSettings

_LOG: Final = logging.getLogger(__name__)
_CHILD: Final = "sagemaker_debug_ext.profiler.sampler.child"
_MAX_RESTARTS: Final = 3
_RETRY_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 10.0


def start_sampler(
    output_path: str | os.PathLike[str],
    interval_millis: int = 500,
    node: str = "algo-1",
    upload_to: str | None = None,
    config_path: str | None = None,
) -> Sampler:
    """Record system metrics of this machine until this process ends or the sampler is stopped.

    Sampling runs in a process of its own, so that it neither slows training down nor ends with a crash of it. Several
    processes of a machine may call this for one folder: a lock decides which of them samples, and another one takes
    over when it ends.

    Args:
        output_path: The folder ``profiler-output``; it is created.
        interval_millis: Milliseconds between samples, from 100 to 60,000.
        node: The machine, as the files name it: ``algo-`` and a number.
        upload_to: Another folder, such as one on S3, to which all files below `output_path` are copied.
        config_path: A file ``profilerconfig.json``, whose ``ProfilingIntervalInMilliseconds`` and ``DisableProfiler``
            are followed within a second when it changes.

    Returns:
        The sampler, which is also a context manager that stops it.

    Raises:
        SMDebugValueError: An argument is not allowed.
        MissingDependencyError: psutil is not installed.
    """
    sampler = Sampler(
        SamplerSettings(
            output_path=output_path,
            interval_millis=interval_millis,
            node=node,
            upload_to=upload_to,
            config_path=config_path,
        )
    )
    sampler.start()
    return sampler


class Sampler:
    """A sampler of this process; see `start_sampler`.

    Methods may be called from any thread. A fork of this process has no part in it.
    """

    def __init__(self, settings: SamplerSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()  # guards the following two attributes
        self._child: subprocess.Popen[bytes] | None = None
        self._wake = threading.Event()  # set when sampling is to stop
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._supervise, name="profiler-sampler", daemon=True)

    @property
    def pid(self) -> int | None:
        """The process id of the sampling process; None if another process of this machine samples."""
        with self._lock:
            return None if self._child is None else self._child.pid

    def start(self) -> None:
        """Start to sample as soon as no other process of this machine does.

        Raises:
            MissingDependencyError: psutil is not installed.
        """
        if importlib.util.find_spec("psutil") is None:
            raise MissingDependencyError("psutil", "sampling of system metrics", "profile")
        atexit.register(self.stop)
        self._thread.start()

    def stop(self, exit_code: int | None = 0) -> None:
        """Stop to sample; the last samples and the end of the job are written.

        Args:
            exit_code: The exit code of the job, negative for a signal, which is written with its end.
        """
        if os.getpid() != self._pid:
            return
        atexit.unregister(self.stop)
        with self._lock:
            self._wake.set()
            child = self._child
        if child is not None:
            _tell(child, exit_code)
            try:
                child.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _LOG.warning("the sampler did not end within %g s; it is killed", _STOP_SECONDS)
                child.kill()
        if self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)

    def __enter__(self) -> Sampler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop(0 if error is None else 1)

    def _supervise(self) -> None:
        """Wait to be elected, run the sampling process, and start it again if it is killed."""
        path = self.settings.lock_path("launch")
        with contextlib.suppress(OSError), exclusive_lock(path, lambda: self._wake.wait(_RETRY_SECONDS)) as is_elected:
            if not is_elected:
                return
            for _ in range(1 + _MAX_RESTARTS):
                if self._run_child():
                    return
                if self._wake.wait(_RETRY_SECONDS):
                    return
            _LOG.warning("the sampler ended %d times; system metrics are no longer recorded", 1 + _MAX_RESTARTS)

    def _run_child(self) -> bool:
        """Run the sampling process to its end; return whether that is no reason to start it again."""
        with self._lock:
            if self._wake.is_set():
                return True
            try:
                child = self._child = _spawn(self.settings)
            except OSError as error:
                _LOG.warning("the sampler cannot be started: %s", error)
                return False
        code = child.wait()
        with self._lock:
            self._child = None
            is_asked = self._wake.is_set()
            if code and not is_asked:
                _LOG.warning("the sampler ended with exit code %d", code)
            return is_asked or code == 0


def _spawn(settings: SamplerSettings) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", _CHILD, settings.to_json(), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C in a terminal is for the training script
    )


def _tell(child: subprocess.Popen[bytes], exit_code: int | None) -> None:
    assert child.stdin is not None
    with contextlib.suppress(OSError):  # it has already ended
        child.stdin.write(f"{json.dumps({'exit_code': exit_code})}\n".encode())
        child.stdin.close()


def is_available() -> bool:
    """Return whether this machine can be sampled: it has psutil."""
    return importlib.util.find_spec("psutil") is not None
