"""Reports of a script on its predictions, compared with what the losses show of them: `ReportedOrder`."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.class_labels import ClassIds
from sagemaker_debug_ext.rules.inference.losses import observed_losses, predicted_classes
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import ReportRecord
from sagemaker_debug_ext.vocabulary import ModeKeys

RECENT: Final = 30
"""Number of latest steps that show what a model knows."""
MOST_OF_STEP: Final = 10_000
"""Number of predictions of a step that are kept, of which a picture may have millions."""
FEWEST: Final = 100
"""Number of samples that show it."""
KNOWS: Final = 0.3
"""Smallest kappa of a model that knows classes."""
SOUND: Final = 0.5
"""Fraction of that kappa from which on a report is a good one."""
FEWEST_REPORTED: Final = 200
"""Number of predictions from which on a report tells weak skill from none."""
BY_CHANCE: Final = 2.0
"""Number of standard deviations that a report may be away from chance."""
FAR: Final = 3.0
"""Number of standard deviations by which it must be below what the model knows."""
MOST_MOVED: Final = 0.2
"""Largest fraction of reported predictions that would have to be of another class for the shares of the labels, or for
those of the latest predictions."""
ANOTHER_ORDER: Final = "as if labels were in another order"
"""Message part on predictions that a script compares with labels of other samples."""
BY_HEART: Final = "Or the model has learnt its training data by heart, and knows nothing else"
"""Message part where no loss shows what the model knows of other data."""


class ReportedOrder:
    """Finds reports that have no more predictions right than chance, although the model knows the classes."""

    def __init__(self) -> None:
        self._latest: dict[ModeKeys, collections.deque[tuple[ClassIds, ClassIds]]] = {}
        self.seen: tuple[StepView, str] | None = None
        """The latest step with predicted classes, and their name."""

    def observe(self, view: StepView, has_ended: bool) -> None:
        """Observe what the model predicts at a step, unless the job has ended without any report of its script."""
        if has_ended and not view.program.reports:
            return
        for loss in observed_losses(view):
            found = predicted_classes(loss)
            if found is not None and len(found[0]) == len(found[1]):
                labels, predicted = (each[:MOST_OF_STEP].copy() for each in found)
                self._latest.setdefault(view.mode, collections.deque(maxlen=RECENT)).append((labels, predicted))
                self.seen = view, loss.answers_name

    def problem(self, reports: Sequence[ReportRecord]) -> tuple[str, ReportRecord] | None:
        """Return what is wrong with one of the reports, and it; None if nothing is, or too little is known."""
        mode = ModeKeys.EVAL if ModeKeys.EVAL in self._latest else ModeKeys.TRAIN
        pairs = self._latest.get(mode, ())
        if not pairs or not reports:
            return None
        labels, predicted = (np.concatenate(each) for each in zip(*pairs, strict=True))
        known = ReportRecord.of("", labels, predicted)
        if known.num_samples < FEWEST or known.kappa < KNOWS:
            return None
        if any(report.kappa > SOUND * known.kappa for report in reports):  # then others may be of baselines
            return None
        for report in reports:
            if _is_in_another_order(report, known):
                in_evaluation = mode is ModeKeys.EVAL
                where = "evaluation" if in_evaluation else "training"
                text = (
                    f"{report.function}() found {report.num_right} of {report.num_samples} predictions right, "
                    f"{ANOTHER_ORDER}: chance gives {report.num_expected:.0f}, the classes come up as often as those "
                    f"of the labels, and {known.num_right / known.num_samples:.0%} of the latest predictions of "
                    f"{where} are right."
                )
                return (text if in_evaluation else f"{text} {BY_HEART}."), report
        return None


def _is_in_another_order(report: ReportRecord, known: ReportRecord) -> bool:
    """Return whether a report has as many right as chance, and far fewer than what the model knows would give.

    Args:
        report: The report, on predictions that have to be of as many classes, about as often, as those of the model.
        known: What the losses show of the model.
    """
    if report.num_samples < FEWEST_REPORTED or len(report.shares) < 2 or len(report.shares) != len(known.shares):
        return False
    by_skill = report.num_expected + known.kappa * (report.num_samples - report.num_expected)
    is_chance = abs(report.num_right - report.num_expected) <= BY_CHANCE * report.deviation
    is_far = report.num_right < by_skill - FAR * report.deviation
    unlike = sum(abs(mine - own) for mine, own in zip(report.shares, known.shares, strict=True)) / 2
    return is_chance and is_far and unlike <= MOST_MOVED and report.num_moved <= MOST_MOVED * report.num_samples
