"""Evaluate the rules of a job while it runs, as SageMaker does: over the trial at its S3 location."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.errors import DebugExtError, SMDebugValueError
from sagemaker_debug_ext.local.description import job_arn, now, shorten
from sagemaker_debug_ext.local.events import ActionTaken, EventHandler, IssueFound, RuleStatusChanged
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.rules import Isolation, Issue, Rule, RuleStatus, create_custom_rule, create_rule, evaluate
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.results import write_result
from sagemaker_debug_ext.rules.evaluation.status import EvaluationStatus
from sagemaker_debug_ext.store.format.manifest import list_collections, read_collections
from sagemaker_debug_ext.store.job_end import has_ended

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.action import ActionHandler, ActionParameters
    from sagemaker_debug_ext.store.backends import Backend
    from sagemaker_debug_ext.trials import Trial

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.2
_OTHER_TRIAL: Final = re.compile(r"other_trial_\d+")


class RuleEvaluations:
    """Evaluates the debugger rules of a request in a thread of its own.

    As on SageMaker a rule ends at the first step at which its condition is met, its actions run then, and a rule that
    cannot run has the status ``Error`` while the job goes on. Custom rules run in processes of their own, where
    ``import smdebug`` gives this package, as files of rules for SageMaker expect.

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
        self._paths = artifact_paths(request)
        self._job_name = str(request["TrainingJobName"])
        self._locations = locations
        self._on_event = on_event
        self._on_status = on_status
        self._stop_job = stop_job
        self._cancelled = threading.Event()
        self._records = {
            rule["RuleConfigurationName"]: _Record(rule) for rule in request.get("DebugRuleConfigurations", ())
        }
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there are rules."""
        if self._records:
            self._publish()
            self._thread = threading.Thread(target=self._run, name=f"rules-of-{self._job_name}")
            self._thread.start()

    def cancel(self) -> None:
        """End all running rules with the status ``Stopped``."""
        self._cancelled.set()

    def join(self) -> None:
        """Wait until every rule has ended, after the end marker of the trial or `cancel`."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            trial = self._open_trial()
            if trial is not None:
                self._evaluate(trial)
        except Exception as error:  # noqa: BLE001 - the end of the thread: every rule must get its last status
            _LOG.exception("evaluating the rules of job %s failed", self._job_name)
            self._end_all("Error", f"InternalServerError: {error}")
        self._end_all("Stopped")

    def _open_trial(self) -> Trial | None:
        """Wait for the trial, and open it; None if the job saves none."""
        from sagemaker_debug_ext.trials import create_trial  # noqa: PLC0415 - most of what it loads only rules need

        location = self._paths.debugger
        if location is None:
            self._end_all("Error", "ClientError: the training job has no DebugHookConfig, so it saves no tensors")
            return None
        backend = self._locations.backend(location)
        while not self._cancelled.is_set():
            ended = has_ended(backend)  # read first, so that nothing written before the end marker is missed
            if _can_be_opened(backend, ended):
                return create_trial(str(self._locations.path(location)))
            if ended:
                self._end_all("Error", "ClientError: the training job saved no tensors; is its hook attached?")
                return None
            self._cancelled.wait(_POLL_SECONDS)
        return None

    def _evaluate(self, trial: Trial) -> None:
        made = {name: self._try_to_make(record, trial) for name, record in self._records.items()}
        rules = {name: rule for name, rule in made.items() if rule is not None}
        evaluation = evaluate(
            rules,
            trial,
            stop_rule_on_first_issue=True,
            should_stop=lambda: self._look_around(evaluation.statuses),
            poll_seconds=_POLL_SECONDS,
            sleep=self._cancelled.wait,
        )
        for issue in evaluation:
            record = self._records[issue.rule]
            record.issues.append(issue)
            self._write_result(record)  # again, if an earlier issue of this step has ended the rule
            self._on_event(IssueFound(job_name=self._job_name, issue=issue))
            self._take_over(evaluation.statuses)
        self._take_over(evaluation.statuses)

    def _look_around(self, statuses: Sequence[RuleStatus]) -> bool:
        self._take_over(statuses)
        return self._cancelled.is_set()

    def _try_to_make(self, record: _Record, trial: Trial) -> Rule | None:
        try:
            return self._with_output(call_rule(self._make_rule, record, trial), record)
        except RuleFailure as failure:
            error = failure.error
            _LOG.warning("rule %s cannot be evaluated", record.name, exc_info=not isinstance(error, DebugExtError))
            self._update(
                record, attrs.evolve(record.status, status="Error", details=f"{type(error).__name__}: {error}")
            )
            return None

    def _with_output(self, rule: Rule, record: _Record) -> Rule:
        """Set the output path of a rule to the location of its result."""
        location = self._paths.rules[record.name]
        rule.output_path = None if location is None else str(self._locations.path(location))
        return rule

    def _make_rule(self, record: _Record, trial: Trial) -> Rule:
        parameters = {
            name: str(self._locations.path(value)) if _OTHER_TRIAL.fullmatch(name) else value
            for name, value in record.config.get("RuleParameters", {}).items()
        }
        name = parameters.get("rule_to_invoke")
        if not name:
            raise SMDebugValueError("RuleParameters must hold 'rule_to_invoke', the name of the rule")
        handlers = {action: self._handler(record, action) for action in ("stoptraining", "email", "sms")}
        source = parameters.get("source_s3_uri")
        if source is None:
            return create_rule(name, trial, parameters, action_handlers=handlers)
        path = self._locations.path(source)
        options: dict[str, Any] = {"isolation": Isolation(), "smdebug_alias": True, "action_handlers": handlers}
        return create_custom_rule(path, name, trial, parameters, **options)

    def _handler(self, record: _Record, action: str) -> ActionHandler:
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

    def _take_over(self, statuses: Sequence[RuleStatus]) -> None:
        for status in statuses:
            record = self._records[status.name]
            if (status.status, shorten(status.details)) != (record.status.status, record.status.details):
                self._update(record, status)

    def _end_all(self, status: EvaluationStatus, details: str = "") -> None:
        for record in self._records.values():
            if not record.has_ended:
                self._update(record, attrs.evolve(record.status, status=status, details=details))

    def _update(self, record: _Record, status: RuleStatus) -> None:
        record.modified_at = now()
        record.status = attrs.evolve(
            status, details=shorten(status.details), modified_at=record.modified_at.timestamp()
        )
        self._write_result(record)
        self._publish()
        self._on_event(
            RuleStatusChanged(
                job_name=self._job_name,
                rule=record.name,
                status=status.status,
                details=record.status.details,
                step=status.first_issue_step,
            )
        )

    def _write_result(self, record: _Record) -> None:
        location = self._paths.rules[record.name]
        if location is not None and record.has_ended:
            write_result(self._locations.backend(location), record.status, record.issues, record.actions)

    def _publish(self) -> None:
        self._on_status([record.described(self._request) for record in self._records.values()])


def _can_be_opened(backend: Backend, ended: bool) -> bool:
    """Return whether the collections files of all workers are there, so that opening the trial does not wait."""
    keys = list(list_collections(backend).values())
    return bool(keys) and (ended or len(keys) >= read_collections(backend, keys[0]).num_workers)


def _not_sent(parameters: ActionParameters, message: str) -> str:
    return f"not sent from this machine, to {parameters['endpoint']}: {message}"


@attrs.define
class _Record:
    """A rule of the request, its status and the outcome of its actions."""

    config: Mapping[str, Any]
    status: RuleStatus = attrs.field()
    modified_at: dt.datetime = attrs.field(factory=now)
    issues: list[Issue] = attrs.field(factory=list)
    actions: list[dict[str, str]] = attrs.field(factory=list)

    @status.default
    def _first_status(self) -> RuleStatus:
        return RuleStatus(name=self.name, rule=self.config.get("RuleParameters", {}).get("rule_to_invoke", ""))

    @property
    def name(self) -> str:
        return str(self.config["RuleConfigurationName"])

    @property
    def has_ended(self) -> bool:
        return self.status.status not in {"InProgress", "Stopping"}

    def described(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rule's entry in the job's description."""
        arn = job_arn(request, "processing-job", _evaluation_name(request["TrainingJobName"], self.name))
        entry = {
            "RuleConfigurationName": self.name,
            "RuleEvaluationJobArn": arn,
            "RuleEvaluationStatus": self.status.status,
            "LastModifiedTime": self.modified_at,
        }
        return {**entry, "StatusDetails": self.status.details} if self.status.details else entry


def _evaluation_name(job: str, rule: str) -> str:
    """Name a rule's evaluation as SageMaker does: job, rule and some digits, in at most 63 characters."""
    digits = hashlib.sha256(f"{job}/{rule}".encode()).hexdigest()[:8]
    return f"{job[:26]}-{rule[:26]}-{digits}".lower()
