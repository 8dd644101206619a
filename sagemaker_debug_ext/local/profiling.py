"""Profiling of a local job: its system metrics, and its profiler rules while it runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.local.description import job_arn, now, rule_job_name
from sagemaker_debug_ext.local.events import EventHandler, RuleStatusChanged
from sagemaker_debug_ext.local.layout import HOST, JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.profiler.sampler import Sampler, start_sampler
from sagemaker_debug_ext.profiler.sampler.launcher import is_available
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.status import error_details

_LOG: Final = logging.getLogger(__name__)
_DEFAULT_INTERVAL_MILLIS: Final = 500
_POLL_SECONDS: Final = 0.5
_RULE: Final = "rule_to_invoke"
_OPEN: Final = "InProgress"


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


class LocalProfilerEvaluation:
    """Evaluates the profiler rules of a request in a thread of its own.

    As on SageMaker, a rule that runs alone ends when its condition is met first, and ProfilerReport goes on to the end
    of the data and writes its files then. A rule that cannot decide ends with ``NoIssuesFound`` and the reason in its
    ``StatusDetails``.

    Args:
        request: The CreateTrainingJob request.
        path: The folder of profiler data; None if the request disables the profiler.
        locations: Resolves the locations of the request.
        on_event: Called in the thread with changes of status.
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
        self._job_name = str(request["TrainingJobName"])
        self._path = path
        self._on_event = on_event
        self._on_status = on_status
        self._ended = threading.Event()
        self._is_cancelled = False
        self._thread: threading.Thread | None = None
        outputs = artifact_paths(request).rules
        self._rules = [
            _LocalRule(rule, request, _folder(outputs.get(rule["RuleConfigurationName"]), locations))
            for rule in request.get("ProfilerRuleConfigurations", ())
        ]

    def start(self) -> None:
        """Start to evaluate, if there are rules."""
        if self._rules:
            self._publish()
            self._thread = threading.Thread(target=self._run, name=f"profiler-rules-{self._job_name}", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Evaluate the rest of the data, which are complete now."""
        self._ended.set()

    def cancel(self) -> None:
        """End all running rules with the status ``Stopped``."""
        self._is_cancelled = True
        self._ended.set()

    def join(self) -> None:
        """Wait until every rule has ended, after `finish` or `cancel`."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        from sagemaker_debug_ext.profiler.rules.evaluation import pause_after  # noqa: PLC0415 - see _LocalRule._make

        is_last = False
        pause = _POLL_SECONDS
        while not is_last:
            is_last = self._ended.wait(pause)
            began = time.monotonic()
            for rule in self._rules:
                self._step(rule, is_last)
            pause = pause_after(time.monotonic() - began)

    def _step(self, rule: _LocalRule, is_last: bool) -> None:
        if rule.status != _OPEN:
            return
        if self._is_cancelled:
            rule.end("Stopped")
        else:
            try:
                call_rule(rule.advance, self._path, is_last, expected=(DebugExtError, OSError))
            except (DebugExtError, OSError) as problem:
                rule.end("Error", str(problem))
            except RuleFailure as failure:
                error = failure.error
                _LOG.warning("profiler rule %s of job %s failed", rule.name, self._job_name, exc_info=error)
                rule.end("Error", error_details(error))
        if rule.status != _OPEN:
            self._publish()
            changed = RuleStatusChanged(
                job_name=self._job_name, rule=rule.name, status=rule.status, details=rule.details
            )
            self._on_event(changed)

    def _publish(self) -> None:
        self._on_status([rule.describe() for rule in self._rules])


class _LocalRule:
    """One entry of ``ProfilerRuleConfigurations`` and its status."""

    def __init__(self, configuration: Mapping[str, Any], request: Mapping[str, Any], output: Path | None) -> None:
        self.name = str(configuration["RuleConfigurationName"])
        self.status, self.details, self.modified_at = _OPEN, "", now()
        self._parameters = dict(configuration.get("RuleParameters", {}))
        self._arn = job_arn(request, "processing-job", rule_job_name(request["TrainingJobName"], self.name))
        self._output = output
        self._evaluation: Any = None
        self._is_report = False

    def describe(self) -> dict[str, Any]:
        """Return the entry in the description of the job."""
        entry = {
            "RuleConfigurationName": self.name,
            "RuleEvaluationJobArn": self._arn,
            "RuleEvaluationStatus": self.status,
            "LastModifiedTime": self.modified_at,
        }
        return {**entry, "StatusDetails": self.details} if self.details else entry

    def end(self, status: str, details: str = "") -> None:
        self.status, self.details, self.modified_at = status, details, now()

    def advance(self, path: Path | None, is_last: bool) -> None:
        """Evaluate new data, and end if there is a verdict."""
        evaluation = self._evaluation = self._evaluation or self._make(path)
        rules: Sequence[Any] = []
        if evaluation is not None:
            evaluation.advance(is_last)
            rules = evaluation.rules if is_last or self._is_report else evaluation.preview()
        found = [finding.message for rule in rules for finding in rule.findings]
        if any(rule.triggered for rule in rules) and (is_last or not self._is_report):
            self.end("IssuesFound", found[0] if found else "")
        elif is_last:
            reasons = [f"{rule.name}: {reason}" for rule in rules if (reason := rule.not_evaluated())]
            has_data = evaluation is not None and evaluation.span is not None
            missing = "; ".join(reasons) if has_data else "there are no profiler data"
            self.end("NoIssuesFound", f"not evaluated: {missing}" if missing else "")
        if is_last and self._is_report and self._output is not None and rules:
            from sagemaker_debug_ext.profiler.rules import write_report  # noqa: PLC0415 - see _make

            write_report(rules, self._output / "profiler-output")

    def _make(self, path: Path | None) -> Any:
        # Jobs without profiler rules do not pay for importing them.
        from sagemaker_debug_ext.profiler import rules  # noqa: PLC0415
        from sagemaker_debug_ext.profiler.rules import evaluation, profiler_report  # noqa: PLC0415

        parameters = dict(self._parameters)
        name = str(parameters.pop(_RULE, ""))
        self._is_report = name == profiler_report.NAME
        interval_us = int(parameters.get("scan_interval_us", evaluation.SCAN_INTERVAL_US))
        chosen = (
            rules.create_report_rules(parameters) if self._is_report else [rules.create_profiler_rule(name, parameters)]
        )
        return None if path is None else rules.ProfileEvaluation(path, chosen, interval_us)


def _folder(location: str | None, locations: Locations) -> Path | None:
    return None if location is None else locations.path(location)
