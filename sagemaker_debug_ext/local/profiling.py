"""Profiling of a local job: its system metrics, and its profiler rules while it runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.config.job_spec import DEFAULT_INTERVAL_MILLIS, is_job_spec_variable
from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.local.description import job_arn, rule_job_name
from sagemaker_debug_ext.local.events import EventHandler, RuleStatusChanged
from sagemaker_debug_ext.local.layout import HOST, JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.profiler.sampler import Sampler, start_sampler
from sagemaker_debug_ext.profiler.sampler.launcher import is_available
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.watch.profiler_rules import ProfilerRuleEvaluations, ProfilerRuleRecord

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.5


def profiler_folder(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> Path | None:
    """Return the folder ``profiler-output`` of a job; None if the request disables the profiler.

    A self-managed job profiles itself if it is asked to, as it does on SageMaker. A request without a location for the
    profiler gets a folder beside the job's other files.
    """
    is_self_managed = any(map(is_job_spec_variable, request.get("Environment", ())))
    if is_self_managed or request.get("ProfilerConfig", {}).get("DisableProfiler"):
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
    interval = request.get("ProfilerConfig", {}).get("ProfilingIntervalInMilliseconds", DEFAULT_INTERVAL_MILLIS)
    try:
        return start_sampler(path, interval, HOST, config_path=str(folder.profiler_config))
    except (DebugExtError, OSError) as error:
        _LOG.warning("training job %s is not sampled: %s", request["TrainingJobName"], error)
        return None


class LocalProfilerEvaluation:
    """Evaluates the profiler rules of a request while its job runs; see `ProfilerRuleEvaluations`.

    Args:
        request: The CreateTrainingJob request.
        path: The folder of profiler data; None if the request disables the profiler.
        locations: Resolves the locations of the request.
        on_event: Called in the evaluating thread with changes of status.
        on_status: Called with the new ``ProfilerRuleEvaluationStatuses`` when they have changed.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        path: Path | None,
        locations: Locations,
        *,
        on_event: EventHandler,
        on_status: Callable[[list[dict[str, Any]]], object],
    ) -> None:
        self._request = request
        self._on_event = on_event
        self._on_status = on_status
        outputs = {
            name: None if location is None else str(locations.path(location))
            for name, location in artifact_paths(request).rules.items()
        }
        rules = request.get("ProfilerRuleConfigurations", ())
        name = str(request["TrainingJobName"])
        self._evaluations = ProfilerRuleEvaluations(name, rules, path, outputs, self._changed, _POLL_SECONDS)
        self.finish = self._evaluations.finish
        self.cancel = self._evaluations.cancel
        self.join = self._evaluations.join

    def start(self) -> None:
        """Start to evaluate, if there are rules."""
        if self._evaluations.records:
            self._publish()
        self._evaluations.start()

    def _changed(self, record: ProfilerRuleRecord) -> None:
        self._publish()
        job_name = str(self._request["TrainingJobName"])
        self._on_event(
            RuleStatusChanged(job_name=job_name, rule=record.name, status=record.status, details=record.details)
        )

    def _publish(self) -> None:
        self._on_status([self._describe(record) for record in self._evaluations.records])

    def _describe(self, record: ProfilerRuleRecord) -> dict[str, Any]:
        """Return the entry in the description of the job."""
        rule_job = rule_job_name(self._request["TrainingJobName"], record.name)
        entry = {
            "RuleConfigurationName": record.name,
            "RuleEvaluationJobArn": job_arn(self._request, "processing-job", rule_job),
            "RuleEvaluationStatus": record.status,
            "LastModifiedTime": record.modified_at,
        }
        return {**entry, "StatusDetails": record.details} if record.details else entry
