"""Overfit: the validation loss exceeds the training loss."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.class_weights import weighs_classes
from sagemaker_debug_ext.rules.inference.loss_pairs import (
    MATTERS,
    EvaluationRounds,
    Losses,
    loss_pairs,
)
from sagemaker_debug_ext.rules.inference.losses import (
    comparable_losses,
    count_classes,
    entropy,
    label_entropy,
    observed_losses,
)
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.training import is_final
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

OF_CONSTANT: Final = 1 / 3
"""Fraction of the loss of a constant answer up to which a gap is negligible."""
BY_HEART: Final = 0.02
"""Fraction of the loss of a constant answer below which training has nothing left to learn."""
LITTLE: Final = 0.8
"""Fraction of the loss of a constant answer above which a model knows little of new data."""


def loss_gap(losses: Losses) -> float:
    """Return how far the validation loss exceeds the training loss, relative to the latter.

    With a training loss of 0 the gap is infinite if the validation loss is positive, and 0 otherwise.
    """
    validation, training = losses
    if training == 0:
        return math.inf if validation > 0 else 0.0
    return (validation - training) / abs(training)


class Overfit(BuiltinRule):
    """The validation loss exceeds the training loss.

    Checks tensors of exactly one element that were saved in EVAL and in TRAIN steps. MXNet losses have one element per
    sample, and are averaged. At each EVAL step, the mean loss of the evaluation round so far is compared with the mean
    over the TRAIN steps since the previous round. The rule fires if it exceeds the training loss by more than
    `ratio_threshold` of it, `patience` times in a row.

    If a trial has no EVAL steps (XGBoost has none), losses are paired by name at each step instead. ``validation-X``,
    ``valid-X``, ``val-X``, ``eval-X`` or ``test-X`` is paired with ``train-X``, ``training-X`` or ``X``; ``_`` may
    replace ``-``.

    Where training weighs samples or their classes, which the program record tells, its losses are not on the scale of
    those of validation, and nothing is evaluated.

    With `unless_falling`, a gap alone does not fire, because it is harmless while the validation loss still falls.
    Examples are training that gets harder step by step, and averages that lag behind. The rule then also requires that
    none of the latest `patience` comparisons gave a new best validation loss. Only whole rounds are compared then, once
    training goes on or the job has ended, because parts of them have other samples. Because both losses of a good model
    are tiny, the gap must be more than a tenth of the largest validation loss, and more than a third of the loss of a
    constant answer where the targets are classes. At the end of the job, a gap fires although the validation loss still
    falls if what was learnt is by heart: in `patience` rounds before the last, the training loss of classes was below
    2 % of the loss of a constant answer, so that little is left to learn from, and that of validation above 80 % of it.
    Losses with weights of classes are on another scale, and averages of batch normalisations must have followed.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        start_step: First global step to read; 0 when not given.
        patience: Number of consecutive comparisons that must exceed the threshold; 1 when not given.
        ratio_threshold: Largest tolerated gap, relative to the training loss; 0.1 when not given.
        unless_falling: Whether to ignore the gap while the validation loss still falls, or the job goes on and averages
            of batch normalisations have not followed yet; False when not given.

    Example:
        >>> rule = create_rule("Overfit", trial, {"ratio_threshold": 0.5, "patience": 3, "start_step": 100})
        >>> invoke_rule(rule)
    """

    spec_name = "Overfit"
    fires_after_patience = True
    begins_anew = True
    advice = (
        "Stop earlier, regularise (weight decay, dropout, data augmentation), use more training data or a smaller "
        "model, and check that validation data are prepared like training data."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.LOSSES,))
        self._rounds = EvaluationRounds()
        self._last: StepView | None = None
        self._has_eval_steps = False
        self._exceeded: dict[str, int] = collections.Counter()
        self._best: dict[str, float] = {}
        self._negligible: dict[str, float] = {}
        self._classes: dict[str, collections.Counter[int]] = {}
        self._rounds_by_heart: dict[str, int] = collections.Counter()
        self._num_worse: dict[str, int] = collections.Counter()
        self._averages = MovingAverages()

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue that names the losses with too large a gap, the largest first."""
        self._averages.observe(view)
        if view.step < self.parameters["start_step"]:
            return None
        losses = comparable_losses(view, self.selection)
        self._has_eval_steps = self._has_eval_steps or view.mode is ModeKeys.EVAL
        if self.parameters["unless_falling"]:
            self._observe_constant(view)
            compared = self._rounds.observe_whole(view.mode, losses)
            if view.mode is ModeKeys.EVAL and losses:
                self._last = view
                if any(is_final(view, name) for name in losses):
                    return self.issues_while_waiting()
        else:
            compared = self._rounds.observe(view.mode, losses)
        if not self._has_eval_steps:
            compared = {name: Losses(losses[name], losses[other]) for name, other in loss_pairs(losses).items()}
        found = self._evaluate(view, compared)
        waits = self.parameters["unless_falling"] and self._has_eval_steps and self._averages.lag
        return [] if found and waits else found

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue of the last round, if no more steps will follow."""
        last, self._last = (self._last, None) if self.base_trial.loaded_all_steps else (None, self._last)
        return [] if last is None else self._evaluate(last, self._rounds.take_latest()) or []

    def _evaluate(self, view: StepView, compared: Mapping[str, Losses]) -> list[Issue] | None:
        names = [name for name, pair in compared.items() if self._exceeds_long_enough(view, name, pair)]
        if not names:
            return [] if compared else None
        if self._has_eval_steps and view.program.is_weighted:
            return None
        names.sort(key=lambda name: (-loss_gap(compared[name]), name))
        validation, training = first = compared[names[0]]
        gap, limit = loss_gap(first), self.parameters["ratio_threshold"]
        of_training = f", a gap of {gap:.3g} of the training loss" if training else ""
        message = (
            f"Overfitting shows in {describe_tensors(names)}: the first has a validation loss of {validation:.6g} "
            f"against a training loss of {training:.6g}{of_training} (at most {limit:g} allowed)."
        )
        return [self.found(view, message, tensors=names, value=gap, threshold=limit)]

    def _observe_constant(self, view: StepView) -> None:
        """Take the loss of a constant answer into account, where targets of validation are classes."""
        for loss in observed_losses(view) if view.mode is ModeKeys.EVAL else ():
            if loss.num_classes is not None or loss.is_binary:
                classes = loss.targets if loss.num_classes is None else loss.classes
                self._neglect(loss.name, OF_CONSTANT * label_entropy(classes))
                if not weighs_classes(view, loss):
                    self._classes.setdefault(loss.name, collections.Counter()).update(count_classes(classes))

    def _neglect(self, name: str, gap: float) -> None:
        """Raise the gap of a loss that is negligible."""
        self._negligible[name] = max(self._negligible.get(name, 0.0), gap)

    def _exceeds_long_enough(self, view: StepView, name: str, losses: Losses) -> bool:
        exceeds = loss_gap(losses) > self.parameters["ratio_threshold"]
        self._exceeded[name] = self._exceeded[name] + 1 if exceeds else 0
        is_best = losses.validation < self._best.get(name, math.inf)
        self._num_worse[name] = 0 if is_best else self._num_worse[name] + 1
        if is_best:
            self._best[name] = losses.validation
        if math.isfinite(losses.validation):
            self._neglect(name, MATTERS * abs(losses.validation))
        patience: int = self.parameters["patience"]
        is_by_heart = self._is_by_heart(view, name, losses)
        if self._exceeded[name] < patience or not self.parameters["unless_falling"]:
            return self._exceeded[name] >= patience
        is_tiny = losses.validation - losses.training <= self._negligible.get(name, 0.0)
        return (self._num_worse[name] >= patience or is_by_heart) and not is_tiny

    def _is_by_heart(self, view: StepView, name: str, losses: Losses) -> bool:
        """Return whether the job ends after rounds that showed little of what training has learnt to the last sample.

        The round at the end does not count, because scripts evaluate other data when they have trained.
        """
        if view.mode is ModeKeys.EVAL:
            has_lasted = self._rounds_by_heart[name] >= self.parameters["patience"]
            return has_lasted and is_final(view, name) and not self._averages.lag
        counts = self._classes.get(name)
        of_constant = entropy(np.array(list(counts.values())) / counts.total()) if counts else math.inf
        is_by_heart = losses.training < BY_HEART * of_constant and losses.validation > LITTLE * of_constant
        self._rounds_by_heart[name] = self._rounds_by_heart[name] + 1 if is_by_heart else 0
        return False
