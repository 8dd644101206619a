"""Evaluate the rules of a job while it runs, as SageMaker does."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from sagemaker_debug_ext.errors import DebugExtError, SMDebugValueError, StorageError
from sagemaker_debug_ext.rules import Isolation, Issue, Rule, RuleStatus, create_custom_rule, create_rule, evaluate
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.results import write_result
from sagemaker_debug_ext.rules.evaluation.status import MAX_DETAILS, EvaluationStatus, error_details
from sagemaker_debug_ext.store.format.manifest import list_collections, read_collections
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.watch.pauses import Pauses
from sagemaker_debug_ext.watch.progress import Progress, ProgressMeter
from sagemaker_debug_ext.watch.storage import open_patiently

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.action import ActionHandler
    from sagemaker_debug_ext.store.backends import Backend
    from sagemaker_debug_ext.trials import Trial

_LOG: Final = logging.getLogger(__name__)
_OTHER_TRIAL: Final = re.compile(r"other_trial_\d+")


@attrs.frozen(kw_only=True)
class WatchedJob:
    """The rules of a job, and the places of its files.

    Args:
        name: Name of the training job.
        rules: The members ``DebugRuleConfigurations`` of its request.
        trial: Path or S3 location of its trial; None if it saves no tensors.
        results: Folder or S3 location of the result of each rule, by its name; None writes no result.
        locate: Returns the path or S3 location that this machine opens for a location in a rule parameter.
        fetch: Returns a local file for the location of a file with rules.
        open_trial: Opens the trial with a wait while S3 is out of reach; the second argument says how long.
    """

    name: str
    rules: Sequence[Mapping[str, Any]]
    trial: str | None
    results: Mapping[str, str | None]
    locate: Callable[[str], str] = str
    fetch: Callable[[str], str] = str
    open_trial: Callable[[str, Callable[[], bool]], Backend] = open_patiently


class Listener(Protocol):
    """Receives the issues and statuses of a job's rules; called on the evaluating thread."""

    def issue_found(self, issue: Issue) -> None:
        """Handle an issue; `Issue.rule` is the ``RuleConfigurationName``."""

    def status_changed(self, record: RuleRecord) -> None:
        """Handle a change of a rule's status."""


def now() -> dt.datetime:
    """Return the current time with time zone, truncated to milliseconds as in descriptions."""
    time = dt.datetime.now(dt.timezone.utc).astimezone()
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


@attrs.define
class RuleRecord:
    """A rule of a request, its status, its first issues and the outcome of its actions."""

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
        """The ``RuleConfigurationName``."""
        return str(self.config["RuleConfigurationName"])

    @property
    def has_ended(self) -> bool:
        """Whether the rule has its last status."""
        return self.status.status not in {"InProgress", "Stopping"}


class RuleEvaluations:
    """Evaluates the debugger rules of a job over its trial.

    As on SageMaker, a rule ends at the first step at which its condition is met, and its actions run then. A rule that
    cannot run gets the status ``Error``, and the others continue. Custom rules run in separate processes, in which
    ``import smdebug`` imports this package, because rule files for SageMaker contain it.

    Args:
        job: The job.
        listener: Receives issues and changes of status.
        handlers: Returns the handlers of a rule's actions, by name of the action; they may add to its `actions`.
        poll_seconds: Time between two looks for new steps.
        clock: Monotonic clock in seconds.
    """

    def __init__(
        self,
        job: WatchedJob,
        listener: Listener,
        handlers: Callable[[RuleRecord], Mapping[str, ActionHandler]],
        poll_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job = job
        self._listener = listener
        self._handlers = handlers
        self._poll_seconds = poll_seconds
        self._pauses = Pauses()
        self._reason = ""
        self._is_abandoned = False
        self._meter = ProgressMeter(clock)
        self.records: Final = {str(rule["RuleConfigurationName"]): RuleRecord(rule) for rule in job.rules}
        """The rules, by name."""

    @property
    def progress(self) -> Progress:
        """How far the rules are in the trial; readable from any thread."""
        return self._meter.read()

    def cancel(self, reason: str = "") -> None:
        """End all running rules with the status ``Stopped``; callable from any thread.

        Args:
            reason: The details of their statuses.
        """
        self._reason = self._reason or reason
        self._pauses.end()

    def hurry(self) -> None:
        """Look for new steps now, and often from now on; see `Pauses.hurry`."""
        self._pauses.hurry()

    def abandon(self) -> None:
        """Stop without writing another status or result, because another process evaluates the rules now."""
        self._is_abandoned = True
        self._pauses.end()

    def run(self) -> None:
        """Evaluate until every rule has ended: after the end marker of the trial, or after `cancel`.

        While S3 is out of reach, its requests are repeated.
        """
        try:
            trial = self._open_trial()
            if trial is not None:
                self._evaluate(trial)
        except StorageError as error:
            if self._keeps_waiting():
                self._end_all("Error", f"InternalServerError: {error}")
        except Exception as error:  # noqa: BLE001 - the end of the evaluation: every rule must get its last status
            _LOG.exception("evaluating the rules of job %s failed", self._job.name)
            self._end_all("Error", f"InternalServerError: {error}")
        self._end_all("Stopped", self._reason)

    def _open_trial(self) -> Trial | None:
        """Wait for the trial, and open it; None if the job saves none."""
        from sagemaker_debug_ext.trials import Trial  # noqa: PLC0415 - most of what it loads only rules need

        location = self._job.trial
        if location is None:
            self._end_all("Error", "ClientError: the training job has no DebugHookConfig, so it saves no tensors")
            return None
        backend = self._job.open_trial(location, self._keeps_waiting)
        while self._keeps_waiting():
            ended = has_ended(backend)  # read first, so that nothing written before the end marker is missed
            if is_described(backend, ended):
                return Trial(location.rpartition("/")[2], backend, wait_seconds=0)
            if ended:
                self._end_all("Error", "ClientError: the training job saved no tensors; is its hook attached?")
                return None
            self._pauses.take(self._poll_seconds)
        return None

    def _keeps_waiting(self) -> bool:
        return not self._pauses.have_ended

    def _evaluate(self, trial: Trial) -> None:
        made = {name: self._try_to_make(record, trial) for name, record in self.records.items()}
        rules = {name: rule for name, rule in made.items() if rule is not None}
        evaluation = evaluate(
            rules,
            trial,
            stop_rule_on_first_issue=True,
            should_stop=lambda: self._look_around(trial, evaluation.statuses),
            poll_seconds=self._poll_seconds,
            sleep=self._pauses.take,
        )
        try:
            for issue in evaluation:
                record = self.records[issue.rule]
                record.issues.append(issue)
                self._write_result(record)  # again, if an earlier issue of this step has ended the rule
                self._listener.issue_found(issue)
                self._take_over(evaluation.statuses)
        finally:
            self._meter.end(trial.last_complete_step, _judged_step(evaluation.statuses))
        self._take_over(evaluation.statuses)

    def _look_around(self, trial: Trial, statuses: Sequence[RuleStatus]) -> bool:
        self._meter.look(trial.last_complete_step, _judged_step(statuses))
        self._take_over(statuses)
        return self._pauses.have_ended

    def _try_to_make(self, record: RuleRecord, trial: Trial) -> Rule | None:
        try:
            rule = call_rule(self._make_rule, record, trial)
        except RuleFailure as failure:
            error = failure.error
            _LOG.warning("rule %s cannot be evaluated", record.name, exc_info=not isinstance(error, DebugExtError))
            self._update(record, attrs.evolve(record.status, status="Error", details=error_details(error)))
            return None
        rule.output_path = self._job.results[record.name]
        return rule

    def _make_rule(self, record: RuleRecord, trial: Trial) -> Rule:
        parameters = {
            name: self._job.locate(value) if _OTHER_TRIAL.fullmatch(name) else value
            for name, value in record.config.get("RuleParameters", {}).items()
        }
        name = parameters.get("rule_to_invoke")
        if not name:
            raise SMDebugValueError("RuleParameters must hold 'rule_to_invoke', the name of the rule")
        handlers = self._handlers(record)
        source = parameters.get("source_s3_uri")
        if source is None:
            return create_rule(name, trial, parameters, action_handlers=handlers)
        options: dict[str, Any] = {"isolation": Isolation(), "smdebug_alias": True, "action_handlers": handlers}
        return create_custom_rule(self._job.fetch(source), name, trial, parameters, **options)

    def _take_over(self, statuses: Sequence[RuleStatus]) -> None:
        for status in statuses:
            record = self.records[status.name]
            if (status.status, _shorten(status.details)) != (record.status.status, record.status.details):
                self._update(record, status)
            else:  # it has counted steps, which is no change for listeners
                record.status = attrs.evolve(
                    status, details=record.status.details, modified_at=record.status.modified_at
                )

    def _end_all(self, status: EvaluationStatus, details: str = "") -> None:
        for record in self.records.values():
            if not record.has_ended:
                self._update(record, attrs.evolve(record.status, status=status, details=details))

    def _update(self, record: RuleRecord, status: RuleStatus) -> None:
        if self._is_abandoned:
            return
        record.modified_at = now()
        record.status = attrs.evolve(
            status, details=_shorten(status.details), modified_at=record.modified_at.timestamp()
        )
        self._write_result(record)
        self._listener.status_changed(record)

    def _write_result(self, record: RuleRecord) -> None:
        folder = self._job.results[record.name]
        if folder is not None and record.has_ended and not self._is_abandoned:
            results = open_patiently(folder, self._keeps_waiting)
            write_result(results, record.status, record.issues, record.actions)


def is_described(backend: Backend, ended: bool = False) -> bool:
    """Return whether the collections files of all workers are there, so that opening the trial does not wait."""
    keys = list(list_collections(backend).values())
    return bool(keys) and (ended or len(keys) >= read_collections(backend, keys[0]).num_workers)


def _judged_step(statuses: Iterable[RuleStatus]) -> int:
    """Return the last step that the rules evaluated or skipped; -1 before the first."""
    return max((status.last_step for status in statuses if status.last_step is not None), default=-1)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_DETAILS else text[: MAX_DETAILS - 1] + "…"
