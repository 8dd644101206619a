"""`FirstStepsRule`: faults of a program that its first training steps show."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.step_view import StepView

MOST_KINDS: Final = 4
"""Number of sets of saved tensors to look at: a step each of a few models that take turns."""


@attrs.define
class _Looked:
    """What the first steps with the same tensors have shown.

    Attributes:
        num_steps: Their number.
        lasting: A sentence for each tensor that has had a problem at all of them.
    """

    num_steps: int = 0
    lasting: dict[str, str] = attrs.field(factory=dict)

    def add(self, found: Mapping[str, str]) -> None:
        """Add the problems of a step."""
        lasts = self.lasting if self.num_steps else found
        self.lasting = {name: text for name, text in found.items() if name in lasts}
        self.num_steps += 1


class FirstStepsRule(BuiltinRule):
    """A rule that decides at the first `patience` TRAIN steps (or steps without a mode), and looks at no others.

    It fires once, for the problems that all of these steps have. Steps that saved other tensors, such as those of
    another model, are counted on their own.
    """

    fires_after_patience = True
    begins_anew = True

    def configure(self) -> None:
        """Begin before the first step."""
        self._looked: dict[tuple[str, ...], _Looked] = {}

    @abc.abstractmethod
    def problems(self, view: StepView) -> Mapping[str, str] | None:
        """Return the problems of a step: a sentence for each tensor that has one; None if nothing can be evaluated."""

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the last of the first steps, if all of them have a problem."""
        if not is_training(view):
            return None
        patience: int = self.parameters["patience"]
        looked = self._looked.get(view.tensor_names)
        is_over = looked is None and len(self._looked) >= MOST_KINDS
        if is_over or (looked is not None and looked.num_steps >= patience):
            return []
        found = self.problems(view)
        if found is None:
            return None
        looked = self._looked.setdefault(view.tensor_names, _Looked())
        looked.add(found)
        if looked.num_steps < patience or not looked.lasting:
            return []
        names = list(looked.lasting)
        return [self.found(view, looked.lasting[names[0]], tensors=names, value=len(names), threshold=0)]
