"""System metrics of a local job."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.local.layout import HOST, JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.profiler.sampler import Sampler, start_sampler
from sagemaker_debug_ext.profiler.sampler.launcher import is_available
from sagemaker_debug_ext.requests import artifact_paths

_LOG: Final = logging.getLogger(__name__)
_DEFAULT_INTERVAL_MILLIS: Final = 500


def profiler_folder(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> Path | None:
    """Return the folder ``profiler-output`` of a job; None if the request disables the profiler.

    A request without a location for the profiler gets a folder beside the job's other files.
    """
    if request.get("ProfilerConfig", {}).get("DisableProfiler"):
        return None
    location = artifact_paths(request).profiler
    return folder.root / "profiler-output" if location is None else locations.path(location)


def start_job_sampler(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> Sampler | None:
    """Start to sample this machine for a job; None if the request disables it, or if psutil is not installed.

    A job never fails because it cannot be sampled.
    """
    path = profiler_folder(request, folder, locations)
    if path is None or not is_available():
        return None
    interval = request.get("ProfilerConfig", {}).get("ProfilingIntervalInMilliseconds", _DEFAULT_INTERVAL_MILLIS)
    try:
        return start_sampler(path, interval, HOST)
    except (DebugExtError, OSError) as error:
        _LOG.warning("training job %s is not sampled: %s", request["TrainingJobName"], error)
        return None
