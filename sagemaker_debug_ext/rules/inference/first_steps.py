"""`FirstStepsRule`: faults of a program that its first training steps show."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.step_view import StepView


class FirstStepsRule(BuiltinRule):
    """A rule that decides at the first `patience` TRAIN steps (or steps without a mode), and looks at no others.

    It fires once, for the problems that all of these steps have.
    """

    fires_after_patience = True
    begins_anew = True

    def configure(self) -> None:
        """Begin before the first step."""
        self._num_steps = 0
        self._lasting: dict[str, str] = {}

    @abc.abstractmethod
    def problems(self, view: StepView) -> Mapping[str, str] | None:
        """Return the problems of a step: a sentence for each tensor that has one; None if nothing can be evaluated."""

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the last of the first steps, if all of them have a problem."""
        patience: int = self.parameters["patience"]
        if self._num_steps >= patience:
            return []
        found = self.problems(view) if is_training(view) else None
        if found is None:
            return None
        self._num_steps += 1
        lasts = found if self._num_steps == 1 else self._lasting.keys() & found.keys()
        self._lasting = {name: text for name, text in found.items() if name in lasts}
        if self._num_steps < patience or not self._lasting:
            return []
        names = list(self._lasting)
        return [self.found(view, self._lasting[names[0]], tensors=names, value=len(names), threshold=0)]
