"""The rules of a local job: they are evaluated in a thread over the trial at its S3 location."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.local.description import job_arn, rule_job_name
from sagemaker_debug_ext.local.events import ActionTaken, EventHandler, IssueFound, RuleStatusChanged
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.watch.evaluation import RuleEvaluations, RuleRecord, WatchedJob

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules import Issue
    from sagemaker_debug_ext.rules.action import ActionHandler, ActionParameters

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.2


class LocalEvaluation:
    """Evaluates the debugger rules of a request in a thread of its own.

    Args:
        request: The CreateTrainingJob request.
        locations: Resolves the locations of the request.
        on_event: Called in the thread with issues, changes of status and actions.
        on_status: Called with the new ``DebugRuleEvaluationStatuses`` when they have changed.
        stop_job: Stops the job for the action ``stoptraining``; returns whether it was running.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        locations: Locations,
        *,
        on_event: EventHandler,
        on_status: Callable[[list[dict[str, Any]]], object],
        stop_job: Callable[[], bool],
    ) -> None:
        self._request = request
        self._job_name = str(request["TrainingJobName"])
        self._on_event = on_event
        self._on_status = on_status
        self._stop_job = stop_job
        self._rules = RuleEvaluations(_watched_job(request, locations), self, self._handlers, _POLL_SECONDS)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there are rules."""
        if self._rules.records:
            self._publish()
            self._thread = threading.Thread(target=self._rules.run, name=f"rules-of-{self._job_name}")
            self._thread.start()

    def cancel(self) -> None:
        """End all running rules with the status ``Stopped``."""
        self._rules.cancel()

    def join(self) -> None:
        """Wait until every rule has ended, after the end marker of the trial or `cancel`."""
        if self._thread is not None:
            self._thread.join()

    def issue_found(self, issue: Issue) -> None:
        """Pass an issue on as an event."""
        self._on_event(IssueFound(job_name=self._job_name, issue=issue))

    def status_changed(self, record: RuleRecord) -> None:
        """Publish the statuses, and pass the new one on as an event."""
        self._publish()
        self._on_event(
            RuleStatusChanged(
                job_name=self._job_name,
                rule=record.name,
                status=record.status.status,
                details=record.status.details,
                step=record.status.first_issue_step,
            )
        )

    def _publish(self) -> None:
        self._on_status([_describe(record, self._request) for record in self._rules.records.values()])

    def _handlers(self, record: RuleRecord) -> dict[str, ActionHandler]:
        return {action: self._handler(record, action) for action in ("stoptraining", "email", "sms")}

    def _handler(self, record: RuleRecord, action: str) -> ActionHandler:
        def handle(parameters: ActionParameters, rule_name: str, message: str) -> None:  # noqa: ARG001 - given names
            outcome = self._stop(parameters) if action == "stoptraining" else _not_sent(parameters, message)
            _LOG.info("action %s of rule %s: %s", action, record.name, outcome)
            record.actions.append({"name": action, "outcome": outcome})
            self._on_event(ActionTaken(job_name=self._job_name, rule=record.name, action=action, outcome=outcome))

        return handle

    def _stop(self, parameters: ActionParameters) -> str:
        prefix = parameters["training_job_prefix"]
        if not self._job_name.startswith(prefix):
            return f"nothing was stopped: the name of this job does not begin with {prefix!r}"
        if not self._stop_job():
            return f"nothing was stopped: training job {self._job_name!r} had ended"
        return f"asked training job {self._job_name!r} to stop"


def _watched_job(request: Mapping[str, Any], locations: Locations) -> WatchedJob:
    paths = artifact_paths(request)
    locate = locations.url
    return WatchedJob(
        name=str(request["TrainingJobName"]),
        rules=request.get("DebugRuleConfigurations", ()),
        trial=None if paths.debugger is None else locate(paths.debugger),
        results={name: None if location is None else locate(location) for name, location in paths.rules.items()},
        locate=locate,
        fetch=lambda location: str(locations.input_path(location)),
    )


def _not_sent(parameters: ActionParameters, message: str) -> str:
    return f"not sent from this machine, to {parameters['endpoint']}: {message}"


def _describe(record: RuleRecord, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a rule in the description of its job."""
    entry = {
        "RuleConfigurationName": record.name,
        "RuleEvaluationJobArn": job_arn(
            request, "processing-job", rule_job_name(request["TrainingJobName"], record.name)
        ),
        "RuleEvaluationStatus": record.status.status,
        "LastModifiedTime": record.modified_at,
    }
    return {**entry, "StatusDetails": record.status.details} if record.status.details else entry
