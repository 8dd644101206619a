"""Evaluate the profiler rules of a job while it runs, as SageMaker does."""

from __future__ import annotations

import datetime as dt
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.status import EvaluationStatus, error_details
from sagemaker_debug_ext.watch.evaluation import now
from sagemaker_debug_ext.watch.pauses import Pauses

_LOG: Final = logging.getLogger(__name__)
_OPEN: Final = "InProgress"
_RULE: Final = "rule_to_invoke"
_REPORT_FOLDER: Final = "profiler-output"


@attrs.define
class ProfilerRuleRecord:
    """A profiler rule of a request and its status.

    Args:
        config: The entry of ``ProfilerRuleConfigurations``.
        output: Folder or S3 location of its results; None writes none.
    """

    config: Mapping[str, Any]
    output: str | None = None
    status: EvaluationStatus = _OPEN
    details: str = ""
    modified_at: dt.datetime = attrs.field(factory=now)

    @property
    def name(self) -> str:
        """The ``RuleConfigurationName``."""
        return str(self.config["RuleConfigurationName"])

    @property
    def has_ended(self) -> bool:
        """Whether the rule has its last status."""
        return self.status != _OPEN


class ProfilerRuleEvaluations:
    """Evaluates the profiler rules of a job in a thread of its own, until the end mark is in its data.

    As on SageMaker, a rule that runs alone ends when its condition is met first, and ProfilerReport goes on to the end
    of the data and writes its files then. A rule that cannot decide ends with ``NoIssuesFound`` and the reason in its
    details.

    Args:
        job_name: Name of the training job.
        rules: The members ``ProfilerRuleConfigurations`` of its request.
        path: The folder ``profiler-output``, or its address on S3; None if the job is not profiled.
        outputs: Folder or S3 location of the results of each rule, by its name.
        on_change: Called in the thread with a rule whose status has changed.
        poll_seconds: Minimum time between two looks for new data.
    """

    def __init__(
        self,
        job_name: str,
        rules: Sequence[Mapping[str, Any]],
        path: str | os.PathLike[str] | None,
        outputs: Mapping[str, str | None],
        on_change: Callable[[ProfilerRuleRecord], object],
        poll_seconds: float,
    ) -> None:
        self._job_name = job_name
        self._on_change = on_change
        self._poll_seconds = poll_seconds
        self._pauses = Pauses()
        self._is_cancelled = False
        self._is_abandoned = False
        self._thread: threading.Thread | None = None
        self.records: Final = [
            ProfilerRuleRecord(rule, outputs.get(str(rule["RuleConfigurationName"]))) for rule in rules
        ]
        """The rules, in the order of the request."""
        self._rules = [_EvaluatedRule(record, path) for record in self.records]

    def start(self) -> None:
        """Start to evaluate, if there are rules."""
        if self.records:
            self._thread = threading.Thread(target=self._run, name=f"profiler-rules-{self._job_name}", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Evaluate the rest of the data, which are complete now."""
        self._pauses.end()

    def hurry(self) -> None:
        """Look for new data now, and often from now on; see `Pauses.hurry`."""
        self._pauses.hurry()

    def cancel(self) -> None:
        """End all running rules with the status ``Stopped``."""
        self._is_cancelled = True
        self._pauses.end()

    def abandon(self) -> None:
        """Stop without another status or result, because another process evaluates the rules now."""
        self._is_abandoned = True
        self._pauses.end()

    def join(self) -> None:
        """Wait until every rule has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        from sagemaker_debug_ext.profiler.rules.evaluation import pause_after  # noqa: PLC0415 - see _EvaluatedRule

        pause = self._poll_seconds
        while not (self._is_abandoned or all(record.has_ended for record in self.records)):
            is_last = self._pauses.take(pause)
            began = time.monotonic()
            for rule in self._rules:
                self._step(rule, is_last)
            pause = max(self._poll_seconds, pause_after(time.monotonic() - began))

    def _step(self, rule: _EvaluatedRule, is_last: bool) -> None:
        record = rule.record
        if record.has_ended or self._is_abandoned:
            return
        if self._is_cancelled:
            rule.end("Stopped")
        else:
            try:
                call_rule(rule.advance, is_last, expected=(DebugExtError, OSError))
            except (DebugExtError, OSError) as problem:
                rule.end("Error", str(problem))
            except RuleFailure as failure:
                error = failure.error
                _LOG.warning("profiler rule %s of job %s failed", record.name, self._job_name, exc_info=error)
                rule.end("Error", error_details(error))
        if record.status != _OPEN:
            self._on_change(record)


class _EvaluatedRule:
    """A rule over the data of a job."""

    def __init__(self, record: ProfilerRuleRecord, path: str | os.PathLike[str] | None) -> None:
        self.record = record
        self._path = path
        self._evaluation: Any = None
        self._is_report = False

    def end(self, status: EvaluationStatus, details: str = "") -> None:
        self.record.status, self.record.details, self.record.modified_at = status, details, now()

    def advance(self, is_last: bool) -> None:
        """Evaluate new data, and end if there is a verdict."""
        evaluation = self._evaluation = self._evaluation or self._make()
        rules: Sequence[Any] = []
        if evaluation is not None:
            is_last = is_last or evaluation.has_ended()
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
        if is_last and self._is_report and self.record.output is not None and rules:
            from sagemaker_debug_ext.profiler.rules import write_report  # noqa: PLC0415 - see _make

            write_report(rules, f"{self.record.output}/{_REPORT_FOLDER}")

    def _make(self) -> Any:
        # Jobs without profiler rules do not pay for importing them.
        from sagemaker_debug_ext.profiler import rules  # noqa: PLC0415
        from sagemaker_debug_ext.profiler.rules import evaluation, profiler_report  # noqa: PLC0415

        parameters = dict(self.record.config.get("RuleParameters", {}))
        name = str(parameters.pop(_RULE, ""))
        self._is_report = name == profiler_report.NAME
        interval_us = int(parameters.get("scan_interval_us", evaluation.SCAN_INTERVAL_US))
        chosen = (
            rules.create_report_rules(parameters) if self._is_report else [rules.create_profiler_rule(name, parameters)]
        )
        return None if self._path is None else rules.ProfileEvaluation(self._path, chosen, interval_us)
