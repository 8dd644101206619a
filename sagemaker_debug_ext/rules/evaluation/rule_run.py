"""`RuleRun`: one rule of an evaluation, with its status, its issues and its result file."""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from sagemaker_debug_ext.errors import NoMoreData, RuleEvaluationConditionMet, StepNotYetAvailable
from sagemaker_debug_ext.rules.base import NO_VERDICT, Rule
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.results import MAX_KEPT_ISSUES, write_result
from sagemaker_debug_ext.rules.evaluation.status import (
    EvaluationStatus,
    RuleStatus,
    condition_met_details,
    error_details,
    shortfall_details,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.store.backends.local import LocalBackend

LOG = logging.getLogger(__name__)

_NO_RESULT = (*NO_VERDICT, StepNotYetAvailable, NoMoreData)
_EXPECTED = (*_NO_RESULT, RuleEvaluationConditionMet)


class RuleRun:
    """One rule of an evaluation, with its status. Errors of the rule end it and are not raised.

    Issues of a rule with `Rule.unless_learnt` are held until `confirm` or `refute`.
    """

    def __init__(
        self, name: str, rule: Rule, *, stop_on_first_issue: bool, clock: Callable[[], float], output_path: str | None
    ) -> None:
        self.name = name
        self.rule = rule
        self.is_active = True
        self._status = RuleStatus(name=name, rule=rule.rule_name, modified_at=clock())
        self._num_steps = 0
        self._num_skipped = 0
        self._num_issues = 0
        self._last_step: int | None = None
        self._modified_at = self._status.modified_at
        self._stop_on_first_issue = stop_on_first_issue
        self._clock = clock
        self._kept_issues: list[Issue] = []
        self._is_holding = rule.unless_learnt is not None
        self.held: list[Issue] = []
        self._result_folder = None if output_path is None else str(Path(output_path, _as_file_name(name)))
        if self._result_folder is not None:
            rule.output_path = self._result_folder
        self._status_lock = threading.RLock()  # `announce_stop` comes from another thread

    @property
    def status(self) -> RuleStatus:
        """The current status of the rule."""
        with self._status_lock:
            return attrs.evolve(
                self._status,
                num_issues=self._num_issues,
                num_steps=self._num_steps,
                num_skipped=self._num_skipped,
                last_step=self._last_step,
                modified_at=self._modified_at,
            )

    def skip(self, step: int, *, is_evaluated: bool) -> None:
        """Count a step at which the rule finds nothing, or has nothing to evaluate."""
        self._num_steps += is_evaluated
        self._num_skipped += not is_evaluated
        self._last_step = step
        self._modified_at = self._clock()

    def evaluate(self, step: int) -> list[Issue]:
        """Return the issues that the rule finds at a global step."""
        ends = False
        try:
            issues = call_rule(self.rule.result_at, step, expected=_EXPECTED)
        except RuleFailure as failure:
            self.fail(failure.error)
            return []
        except _NO_RESULT as reason:
            LOG.debug("rule %s gives no verdict at step %d: %s", self._status.name, step, reason)
            self.skip(step, is_evaluated=False)
            return []
        except RuleEvaluationConditionMet as met:  # some custom rules raise it themselves
            issues = [self.rule.issue(step)]
            ends = met.end_of_rule
        self.skip(step, is_evaluated=issues is not None)
        if not issues:
            return []
        recorded = self._hold_or_record(issues)
        if ends:
            self.end("IssuesFound")
        return recorded

    def wait(self) -> list[Issue]:
        """Return the issues that follow from the absence of new steps."""
        try:
            issues = call_rule(self.rule.issues_while_waiting)
        except RuleFailure as failure:
            self.fail(failure.error)
            return []
        return self._hold_or_record(issues)

    def confirm(self) -> list[Issue]:
        """Return the issues that were held; further ones are not."""
        held, self.held, self._is_holding = self.held, [], False
        return self._hold_or_record(held)

    def refute(self) -> None:
        """Drop the issues that were held."""
        LOG.info("%d issues of rule %s do not count, because the model learns its task", len(self.held), self.name)
        self.held = []

    def fail(self, error: BaseException) -> None:
        """End the rule with an error."""
        LOG.warning("rule %s failed", self._status.name, exc_info=error)
        self.end("Error", error_details(error))

    def end(self, status: EvaluationStatus, details: str = "") -> None:
        """End the rule, unless it has ended. The status IssuesFound is kept, except after an error."""
        if not self.is_active:
            return
        self.is_active = False
        if status != "Error":
            status, details = self._let_finish(status, details)
        if status == "NoIssuesFound":
            details = shortfall_details(self._num_steps, self._num_skipped, self.rule.min_num_steps)
        with self._status_lock:
            if status == "Error" or self._status.status != "IssuesFound":
                self._update(status=status, details=details)
        if self._result_folder is not None:
            write_result(LocalBackend(self._result_folder), self.status, self._kept_issues)

    def announce_stop(self) -> None:
        """Set the status Stopping."""
        with self._status_lock:
            if self.is_active and self._status.status == "InProgress":
                self._update(status="Stopping")

    def _let_finish(self, status: EvaluationStatus, details: str) -> tuple[EvaluationStatus, str]:
        """Finish the rule, and return its last status."""
        try:
            call_rule(self.rule.evaluation_ended)
        except RuleFailure as failure:
            LOG.warning("rule %s could not finish", self._status.name, exc_info=failure.error)
            return "Error", error_details(failure.error)
        return status, details

    def _hold_or_record(self, issues: Sequence[Issue]) -> list[Issue]:
        """Return the issues that count by now, under the name of the rule."""
        if self._is_holding:
            self.held += issues
            return []
        recorded: list[Issue] = []
        for _, found in itertools.groupby(issues, key=lambda issue: issue.step):
            if self.is_active:  # rather than ended by its first issue
                recorded += self._record(list(found))
        return recorded

    def _record(self, issues: Sequence[Issue]) -> list[Issue]:
        step, first = min(issue.step for issue in issues), self._status.first_issue_step
        if first is None or step < first:  # rules that hold issues back return them at a later step
            details = condition_met_details(self.rule.rule_name, step)
            self._update(status="IssuesFound", details=details, first_issue_step=step)
        self.rule.actions.invoke(issues[0].message)
        self._num_issues += len(issues)
        self._modified_at = self._clock()
        named = [attrs.evolve(issue, rule=self._status.name) for issue in issues]
        if self._result_folder is not None:
            self._kept_issues += named[: MAX_KEPT_ISSUES - len(self._kept_issues)]
        if self._stop_on_first_issue:
            self.end("IssuesFound")
        return named

    def _update(self, **changes: object) -> None:
        with self._status_lock:
            self._modified_at = self._clock()
            self._status = attrs.evolve(self._status, **changes)  # type: ignore[arg-type]


def _as_file_name(name: str) -> str:
    """Return a rule's name as a file name, without characters that lead out of the folder."""
    return re.sub(r"[^\w.\- ]", "_", name).lstrip(".") or "_"
