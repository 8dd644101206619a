"""`start_profiling`: record system metrics of this machine and the steps of this process."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Final

from sagemaker_debug_ext.errors import DebugExtError, MissingDependencyError
from sagemaker_debug_ext.profiler.sampler.launcher import Sampler, start_sampler
from sagemaker_debug_ext.profiler.timeline.start import start_timeline, start_timeline_from_environment
from sagemaker_debug_ext.profiler.timeline.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)
PROFILE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_PROFILE"
_HOST_VARIABLE: Final = "SM_CURRENT_HOST"  # algo-<number> in jobs of SageMaker


class Profiling:
    """What was started by `start_profiling`; a context manager that stops it.

    Attributes:
        sampler: The sampler of this machine; None without psutil.
        timeline: The timeline of this process.
    """

    def __init__(self, sampler: Sampler | None, timeline: Timeline) -> None:
        self.sampler = sampler
        self.timeline = timeline

    def stop(self, exit_code: int | None = 0) -> None:
        """Stop recording, and write the rest.

        Args:
            exit_code: The exit code of the job, which is written with its end.
        """
        self.timeline.stop()
        if self.sampler is not None:
            self.sampler.stop(exit_code)

    def __enter__(self) -> Profiling:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop(0 if error is None else 1)


def start_profiling(
    output_path: str | os.PathLike[str],
    interval_millis: int = 500,
    node: str | None = None,
    upload_to: str | None = None,
) -> Profiling:
    """Record how busy this machine is, and the steps of this process, until it ends or the profiling is stopped.

    Every process of a job may call this: a lock decides which of them samples the machine. Training computes the same
    to the last bit.

    Args:
        output_path: The folder ``profiler-output``; it is created.
        interval_millis: Milliseconds between samples of the machine, from 100 to 60,000.
        node: The machine, as files name it: ``algo-`` and a number. ``SM_CURRENT_HOST`` if not given, or ``algo-1``.
        upload_to: Another folder, such as one on S3, to which all files are copied while they are written.

    Raises:
        SMDebugRuntimeError: The steps of this process go to another folder.
        SMDebugValueError: An argument is not allowed.
    """
    host = node or os.environ.get(_HOST_VARIABLE, "algo-1")
    timeline = start_timeline(output_path, host)
    try:
        sampler = start_sampler(output_path, interval_millis, host, upload_to)
    except MissingDependencyError as error:
        _LOG.warning("%s; steps are timed without it%s", error, ", and nothing is copied" if upload_to else "")
        return Profiling(None, timeline)
    return Profiling(sampler, timeline)


def start_profiling_from_environment(environment: Mapping[str, str] | None = None) -> Profiling | None:
    """Start what the environment asks for.

    ``SAGEMAKER_DEBUG_EXT_PROFILE`` names a folder ``profiler-output``. ``SAGEMAKER_DEBUG_EXT_TIMELINE`` names one for
    the steps alone, where another process samples. A wrong value is logged, and the script goes on.

    Args:
        environment: Environment variables; those of the process by default.
    """
    variables = os.environ if environment is None else environment
    path = variables.get(PROFILE_VARIABLE)
    if not path:
        timeline = start_timeline_from_environment(variables)
        return None if timeline is None else Profiling(None, timeline)
    try:
        return start_profiling(path, node=variables.get(_HOST_VARIABLE))
    except (DebugExtError, OSError) as error:
        _LOG.warning("%s=%s has no effect: %s", PROFILE_VARIABLE, path, error)
        return None
