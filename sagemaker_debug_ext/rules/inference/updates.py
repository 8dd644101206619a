"""Relative size of weight updates, for LearningRateTooHigh, LearningRateTooLow and other rules."""

from __future__ import annotations

import abc
import statistics
from typing import ClassVar

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import RollingWindow
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys


class UpdateSizeRule(BuiltinRule):
    """A rule over the relative size of updates, for each step of training.

    An observation is the norm of a weight's change since its previous saved value, relative to the norm of that value,
    per step. The median of the latest observations of a weight is its usual update.
    """

    is_too_large: ClassVar[bool]
    _from_zero: set[str]
    """Names of weights that were 0 when they were first saved."""
    selection = Selection(collections=(CollectionKeys.WEIGHTS,))

    def configure(self) -> None:
        """Reset the observations."""
        self._recent = RollingWindow(self.parameters["window"])
        self._known: set[str] = set()
        self._from_zero = set()
        self._norms: dict[str, float] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        """Return the weights."""
        return (TensorRequirement("weights", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the updates of the weights are out of bounds."""
        mode = train_or_all(view)
        step = view.step_in(mode)
        if step is None:
            return None
        is_offset = naming_scheme_of(
            view.trial
        ).is_offset  # which start at 0, so that they change by much of their size
        names = [name for name in view.selected(self.selection) if not is_offset(name)]
        for name in names:
            self._observe(view, name, mode, step)
        usual = {name: statistics.median(self._recent.of(name)) for name in names if self._recent.is_full(name)}
        moving = {name: value for name, value in usual.items() if value > 0}  # frozen ones have a rule of their own
        if not moving:
            return None
        beyond = self.out_of_bounds(moving)
        if not beyond:
            return []
        limit: float = self.parameters["threshold"]
        first = moving[beyond[0]]
        message = (
            f"The learning rate is too {'high' if self.is_too_large else 'low'} for {describe_tensors(beyond)}: a "
            f"step changes the first by {first:.3g} of its norm, {'above' if self.is_too_large else 'below'} {limit:g}."
        )
        return [self.found(view, message, tensors=beyond, value=first, threshold=limit)]

    @abc.abstractmethod
    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return the weights whose usual update is out of bounds, the worst first."""

    def _observe(self, view: StepView, name: str, mode: ModeKeys, step: int) -> None:
        earlier_steps = self.views.saved_steps(name, mode, step - 1)
        before = earlier_steps[-1] if earlier_steps else None
        global_step = None if before is None else view.trial.global_step(mode, before)
        earlier = None if global_step is None else view.earlier_value(name, global_step)
        current = view.value(name)
        if name not in self._known and current is not None:
            self._known.add(name)
            if not np.any(current):
                self._from_zero.add(name)
        if before is None or earlier is None or current is None or earlier.shape != current.shape:
            return
        ratio = update_ratio(current, earlier, epsilon=1e-12)
        self._recent.add(name, ratio / (step - before))
        self._norms[name] = norm(earlier)
        self.note(name, ratio)

    def note(self, name: str, ratio: float) -> None:
        """Observe the update ratio of a weight since its previous saved value. Optional."""


def update_ratio(current: Array, earlier: Array, epsilon: float) -> float:
    """Return the norm of a weight's change, relative to the norm of the earlier weight."""
    wide = np.complex128 if current.dtype.kind == "c" else np.float64
    change = np.subtract(current, earlier, dtype=wide, casting="unsafe")
    return norm(change) / (norm(earlier) + epsilon)


def any_non_zero(gradient: Array) -> bool:
    """Return whether any element is not 0."""
    return bool(np.any(gradient))
