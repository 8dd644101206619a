"""Overtraining: training continues although no loss improves any more."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_pairs import loss_pairs
from sagemaker_debug_ext.rules.inference.training import loss_values
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys


@attrs.define
class Optimum:
    """The best value of a loss so far, and the number of observations since then."""

    best: float | None = None
    age: int = 0

    def observe(self, loss: float, delta: float) -> None:
        """Add an observation; it becomes the optimum if it is lower by more than `delta`."""
        if self.best is None:
            self.best = math.inf if math.isnan(loss) else loss
        elif loss < self.best - delta:
            self.best, self.age = loss, 0
        else:
            self.age += 1


@attrs.define
class _Course:
    """The optima of one loss, in training and in validation."""

    training: Optimum = attrs.field(factory=Optimum)
    validation: Optimum = attrs.field(factory=Optimum)


class Overtraining(BuiltinRule):
    """Training continues although neither the training nor the validation loss improves any more.

    Checks tensors of exactly one element of the collection ``losses``, in TRAIN and in EVAL steps. MXNet losses have
    one element per sample, and are averaged. A value lower than the best one so far by more than `delta` is a new
    optimum. The rule fires once the last training optimum is at least `patience_train` observations ago and the last
    validation optimum at least `patience_validation`. Without validation losses, nothing is evaluated.

    If a trial has neither TRAIN nor EVAL steps (XGBoost has none), losses are paired by name as in Overfit.

    Parameters:
        patience_train: Observations of the training loss without a new optimum; 5 when not given.
        patience_validation: Observations of the validation loss without a new optimum; 10 when not given.
        delta: Decrease above which a value is a new optimum; 0.01 when not given.

    Example:
        >>> rule = create_rule("Overtraining", trial, {"patience_train": 20, "patience_validation": 20, "delta": 0.001})
        >>> invoke_rule(rule)
    """

    spec_name = "Overtraining"
    advice = "Stop here and keep the best checkpoint, or lower the learning rate if the loss should still improve."
    selection = Selection(collections=(CollectionKeys.LOSSES,))

    def configure(self) -> None:
        self._courses: dict[str, _Course] = {}
        self._has_modes = False

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("losses", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue that names the losses that no longer improve."""
        losses = loss_values(view, self.selection)
        self._has_modes = self._has_modes or view.mode in (ModeKeys.TRAIN, ModeKeys.EVAL)
        observed = self._observe_modes(view.mode, losses) if self._has_modes else self._observe_pairs(losses)
        evaluated = [name for name in observed if self._is_known(self._courses[name])]
        if not evaluated:
            return None
        names = sorted((name for name in evaluated if self._is_over(self._courses[name])), key=self._order)
        if not names:
            return []
        first = self._courses[names[0]]
        text = (
            f"Nothing improves any more in {describe_tensors(names)}: the last optimum of the first was "
            f"{first.training.age} observations ago in training and {first.validation.age} in validation."
        )
        limit: int = self.parameters["patience_validation"]
        return [self.found(view, text, tensors=names, value=first.validation.age, threshold=limit)]

    def _observe_modes(self, mode: ModeKeys, losses: Mapping[str, float]) -> list[str]:
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            return []
        for name, loss in losses.items():
            course = self._courses.setdefault(name, _Course())
            optimum = course.training if mode is ModeKeys.TRAIN else course.validation
            optimum.observe(loss, self.parameters["delta"])
        return list(losses)

    def _observe_pairs(self, losses: Mapping[str, float]) -> list[str]:
        pairs = loss_pairs(losses)
        for name, training_name in pairs.items():
            course = self._courses.setdefault(name, _Course())
            course.training.observe(losses[training_name], self.parameters["delta"])
            course.validation.observe(losses[name], self.parameters["delta"])
        return list(pairs)

    @staticmethod
    def _is_known(course: _Course) -> bool:
        return course.training.best is not None and course.validation.best is not None

    def _is_over(self, course: _Course) -> bool:
        over: bool = (
            course.training.age >= self.parameters["patience_train"]
            and course.validation.age >= self.parameters["patience_validation"]
        )
        return over

    def _order(self, name: str) -> tuple[int, str]:
        return -self._courses[name].validation.age, name
