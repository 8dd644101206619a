"""GeneralizationGap: the validation loss rises while the training loss falls."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_pairs import MATTERS, EvaluationRounds, Losses, loss_pairs
from sagemaker_debug_ext.rules.inference.losses import comparable_losses
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.training import loss_selection
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys


@attrs.define
class _Course:
    """History of the validation loss of one tensor over the rounds."""

    best: float = math.inf
    training_at_best: float = math.inf
    rounds_above: int = 0


class GeneralizationGap(BuiltinRule):
    """The validation loss has risen well above its best value while the training loss kept falling.

    Losses are compared by evaluation rounds, or by name, as in Overfit. The rule fires if three conditions hold at the
    ends of `patience` consecutive rounds. The validation loss is above its best value by more than `ratio_threshold` of
    it. It is also above it by a tenth of the largest validation loss so far, because small losses fluctuate. The
    training loss is below that of the best round. A gap alone, such as that of dropout or data augmentation, does not
    fire, nor does a rise while averages of batch normalisations, which evaluation uses, have not followed yet. Where a
    script goes on to train another model, the next round is the first one.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        patience: Number of consecutive rounds; 2 when not given.
        ratio_threshold: Rise above the best validation loss, relative to it, above which the rule fires; 0.2 when not
            given.

    Source:
        When to stop early: Prechelt, Early Stopping - But When?, 1998, criterion GL.

    Example:
        >>> rule = create_rule("GeneralizationGap", trial, {"patience": 3})
        >>> invoke_rule(rule)
    """

    spec_name = "GeneralizationGap"
    fires_after_patience = True
    begins_anew = True
    advice = (
        "Stop at the best round, regularise (weight decay, dropout, augmentation), get more data, or use a "
        "smaller model."
    )

    def configure(self) -> None:
        self.selection = loss_selection(self.parameters["tensor_regex"])
        self._rounds = EvaluationRounds()
        self._courses: dict[str, _Course] = {}
        self._largest: dict[str, float] = {}
        self._has_eval_steps = False
        self._averages = MovingAverages()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("losses", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the validation loss of a finished round is too high."""
        self._averages.observe(view)
        losses = comparable_losses(view, self.selection)
        for name, loss in losses.items():
            if math.isfinite(loss):
                self._largest[name] = max(self._largest.get(name, 0.0), abs(loss))
        self._has_eval_steps = self._has_eval_steps or view.mode is ModeKeys.EVAL
        if not self._has_eval_steps:
            pairs = loss_pairs(losses).items()
            return self._evaluate(view, {name: Losses(losses[name], losses[other]) for name, other in pairs})
        return self._evaluate(view, self._rounds.observe_whole(view.mode, losses))

    def _evaluate(self, view: StepView, compared: Mapping[str, Losses]) -> list[Issue] | None:
        if not compared:
            return None
        patience: int = self.parameters["patience"]
        names = sorted(name for name, pair in compared.items() if self._observe(name, pair) >= patience)
        if not names or (self._has_eval_steps and self._averages.lag):
            return []
        course, pair = self._courses[names[0]], compared[names[0]]
        limit: float = self.parameters["ratio_threshold"]
        text = (
            f"The model memorizes its training data, evaluating by {describe_tensors(names)}: the validation loss rose "
            f"from {course.best:.4g} at best to {pair.validation:.4g}, while the training loss fell from "
            f"{course.training_at_best:.4g} to {pair.training:.4g}."
        )
        rise = (pair.validation - course.best) / abs(course.best) if course.best else math.inf
        return [self.found(view, text, tensors=names, value=rise, threshold=limit)]

    def _observe(self, name: str, pair: Losses) -> int:
        course = self._courses.setdefault(name, _Course())
        if pair.validation < course.best:
            self._courses[name] = _Course(pair.validation, pair.training)
            return 0
        rise = pair.validation - course.best
        is_above = rise > self.parameters["ratio_threshold"] * abs(course.best) and rise > MATTERS * self._largest.get(
            name, 0.0
        )
        course.rounds_above = course.rounds_above + 1 if is_above and pair.training < course.training_at_best else 0
        return course.rounds_above
