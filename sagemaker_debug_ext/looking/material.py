"""`Material`: all that is read of one trial before its story is told and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import attrs

from sagemaker_debug_ext.looking.curves import Curve, curve_names, read_curves
from sagemaker_debug_ext.looking.measures import LayerMeasures
from sagemaker_debug_ext.looking.measuring import read_measures
from sagemaker_debug_ext.looking.ranks import RankDeviations, read_ranks
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
    """What rules found in a trial.

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
    """All that is read of one trial.

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
    first = _steps_with_issues(verdict.issues if verdict else ())
    names = curve_names(trial)
    return Material(
        trial=trial,
        verdict=verdict,
        measures=read_measures(trial, first, seconds),
        curves=tuple(read_curves(trial, names[:MAX_CURVES])),
        num_curves=len(names),
        ranks=read_ranks(trial, seconds) if len(trial.index_reader.workers()) > 1 else None,
    )


def _steps_with_issues(issues: Iterable[Issue]) -> list[int]:
    """Return the first step of each rule's issues."""
    first: dict[str, int] = {}
    for issue in issues:
        first.setdefault(issue.rule, issue.step)
    return sorted(set(first.values()))
