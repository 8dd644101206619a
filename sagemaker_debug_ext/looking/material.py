"""`Material`: the data of one trial that its story and its page are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from sagemaker_debug_ext.looking.curves import Curve, CurveReader
from sagemaker_debug_ext.looking.measures import LayerMeasures
from sagemaker_debug_ext.looking.measuring import MeasureReader
from sagemaker_debug_ext.looking.ranks import RankDeviations, RankReader
from sagemaker_debug_ext.rules.evaluation.engine import evaluate
from sagemaker_debug_ext.rules.explain import Explanation, explain

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
    from sagemaker_debug_ext.rules.issue import Issue
    from sagemaker_debug_ext.trials import Trial

MAX_CURVES: Final = 24


@attrs.frozen(eq=False)
class Verdict:
    """The result of evaluating rules over a trial.

    Args:
        issues: The issues, in the order of their steps.
        statuses: The status of each rule.
        explanations: Rule name → the tensors that it reads.
    """

    issues: tuple[Issue, ...]
    statuses: tuple[RuleStatus, ...]
    explanations: Mapping[str, Explanation]


@attrs.frozen(eq=False, kw_only=True)
class Material:
    """The data of one trial.

    Args:
        trial: The trial.
        verdict: What rules found; None if none were run.
        measures: The measures of its layers.
        curves: Losses, metrics and further single numbers over steps.
        num_curves: Number of tensors that could be drawn as curves.
        ranks: How far each worker is from the others; None for a trial of one worker.
    """

    trial: Trial
    verdict: Verdict | None
    measures: LayerMeasures
    curves: tuple[Curve, ...]
    num_curves: int
    ranks: RankDeviations | None


def run_rules(trial: Trial, rules: Mapping[str, Rule], start: int = 0, end: int | None = None) -> Verdict:
    """Run rules over the steps that a trial has so far.

    Args:
        trial: The trial.
        rules: The rules by name.
        start: First global step to evaluate.
        end: First global step not to evaluate.
    """
    explanations = {name: explain(rule) for name, rule in rules.items()}
    evaluation = evaluate(rules, trial, start_step=start, end_step=end, follow=False)
    issues = tuple(evaluation)
    return Verdict(issues, evaluation.statuses, explanations)


def gather(trial: Trial, verdict: Verdict | None, seconds: float = 60.0) -> Material:
    """Read what is shown of a trial.

    Args:
        trial: The trial.
        verdict: What rules found; None if none were run.
        seconds: Time after which no further steps of layers are read.
    """
    return MaterialReader(trial).read(verdict, seconds)


class MaterialReader:
    """Reads what is shown of a trial, and goes on where it ended when it reads again.

    Args:
        trial: The trial.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._measures = MeasureReader(trial)
        self._curves = CurveReader(trial, MAX_CURVES)
        self._ranks = RankReader(trial)

    def read(self, verdict: Verdict | None, seconds: float) -> Material:
        """Read steps that were not read yet, and return all that was read; see `gather` for the arguments."""
        self._measures.read(_steps_with_issues(verdict.issues if verdict else ()), seconds)
        return Material(
            trial=self.trial,
            verdict=verdict,
            measures=self._measures.measures(),
            curves=self._curves.read(),
            num_curves=self._curves.num_names,
            ranks=self._ranks.read(seconds),
        )


def _steps_with_issues(issues: Iterable[Issue]) -> list[int]:
    """Return the first step of each rule's issues."""
    first: dict[str, int] = {}
    for issue in issues:
        first.setdefault(issue.rule, issue.step)
    return sorted(set(first.values()))
