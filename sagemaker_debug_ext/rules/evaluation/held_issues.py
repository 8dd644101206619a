"""`HeldIssues`: which issues of rules with `Rule.unless_learnt` count, given what the model learns."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.outcome import Outcome
from sagemaker_debug_ext.rules.evaluation.rule_run import RuleRun
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.step_view import StepReader

LOG = logging.getLogger(__name__)


class HeldIssues:
    """Decides which of the issues count that rules with `Rule.unless_learnt` have found; see `Outcome`.

    Args:
        runs: The rules of the evaluation.
        views: Reader of the trial.
    """

    def __init__(self, runs: Sequence[RuleRun], views: StepReader) -> None:
        self._holding = [run for run in runs if run.rule.unless_learnt is not None]
        self._outcome = Outcome(views)
        self._since: dict[str, int] = {}

    def settle(self, step: int) -> list[Issue]:
        """Observe a step that the rules are about to evaluate, and return the earlier issues that count by now."""
        if not self._holding:
            return []
        try:
            return call_rule(self._settle, step)
        except RuleFailure as failure:
            LOG.warning("issues count at once, as it is unknown whether the model learns", exc_info=failure.error)
            return self._confirm(self._holding)

    def end(self) -> list[Issue]:
        """Return the issues that count at the end of the evaluation, or of the training of a model."""
        suspected = [run for run in self._holding if run.held]
        refuted = [run for run in suspected if self._has_learnt(run)]
        for run in refuted:
            run.refute()
        return self._confirm([run for run in suspected if run not in refuted])

    def _settle(self, step: int) -> list[Issue]:
        settled: list[Issue] = []
        if self._outcome.trains_another_model(step):
            settled = self.end()
            self._outcome.begin()
            self._since.clear()
        self._outcome.observe(step)
        now = self._outcome.num_steps
        due = [
            run
            for run in self._holding
            if run.held and not self._outcome.may_still_learn(now - self._since.setdefault(run.name, now))
        ]
        return settled + self._confirm([run for run in due if not self._has_learnt(run)])

    def _has_learnt(self, run: RuleRun) -> bool:
        gain = run.rule.unless_learnt
        return gain is not None and self._outcome.has_learnt(gain)

    def _confirm(self, runs: Sequence[RuleRun]) -> list[Issue]:
        self._holding = [run for run in self._holding if run not in runs]
        return [issue for run in runs for issue in run.confirm()]
