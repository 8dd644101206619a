"""The profiler of a self-managed job: samples the machine, times the steps of this process, and copies both to S3.

An error of the profiler is logged once, and training goes on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext.config.job_spec import JobProfile
from sagemaker_debug_ext.errors import DebugExtError, SMDebugRuntimeError
from sagemaker_debug_ext.profiler.format.file_names import END_MARKS
from sagemaker_debug_ext.store.backends import open_backend

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.start import Profiling

LOG = logging.getLogger(__name__)

_CONFIG_VARIABLE: Final = "SMPROFILER_CONFIG_PATH"


class JobProfiling:
    """Starts the profiler of a process, and ends it with training."""

    def __init__(self) -> None:
        self._running: Profiling | None = None
        self._unsampled: str | None = None  # the location to which no sampler copies data

    def start(self, profile: JobProfile) -> None:
        """Start the profiler.

        All processes of a machine share one folder, so that one of them is elected to sample the machine.

        Args:
            profile: How to profile.
        """
        from sagemaker_debug_ext.profiler.start import start_profiling  # noqa: PLC0415 - few jobs are profiled so

        try:
            folder = _make_folder(profile.job_name)
            _write_config(folder, profile)
            self._running = start_profiling(folder, profile.interval_millis, upload_to=profile.location)
        except (DebugExtError, OSError, RuntimeError) as error:
            LOG.warning("the job is not profiled: %s", error)
        if self._running is None or self._running.sampler is None:
            self._unsampled = profile.location

    def stop(self) -> None:
        """Write and copy the rest."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()
        unsampled, self._unsampled = self._unsampled, None
        if unsampled is not None:
            try:
                open_backend(unsampled).write(END_MARKS[0], [b""])  # profiler rules wait for it
            except (DebugExtError, OSError) as error:
                LOG.warning("the end of the job cannot be marked in %s: %s", unsampled, error)


def _make_folder(job_name: str) -> str:
    """Return the folder ``profiler-output`` of a job on this machine, which no other user may prepare."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    parent = os.path.join(tempfile.gettempdir(), f"sagemaker-debug-ext-{user}-profile-{job_name}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(parent, 0o700)
    if os.path.islink(parent) or os.stat(parent).st_uid != user:
        raise SMDebugRuntimeError(f"{parent} belongs to another user")
    folder = os.path.join(parent, "profiler-output")
    os.makedirs(folder, exist_ok=True)
    return folder


def _write_config(folder: str, profile: JobProfile) -> None:
    """Write the file that asks for detailed profiles, where the platform writes none."""
    if not profile.config.get("ProfilingParameters") or _CONFIG_VARIABLE in os.environ:
        return
    path = os.path.join(os.path.dirname(folder), f"profilerconfig-{os.getpid()}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**profile.config, "LocalPath": folder}, file)
    os.environ[_CONFIG_VARIABLE] = path
