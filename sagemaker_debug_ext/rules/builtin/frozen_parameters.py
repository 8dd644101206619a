"""FrozenParameters: parameters that never change, with a gradient or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.watching import Streaks, gradient_in
from sagemaker_debug_ext.rules.needs import Need
from sagemaker_debug_ext.rules.roles import scheme_of
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, norm, train_or_all
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

NOISE: Final = 1e-6
"""Gradients smaller than this, relative to the parameter, may change nothing that a float32 can hold."""
HAS_GRADIENT: Final = "it has a gradient, so no optimizer changes it"


def any_non_zero(gradient: Array) -> bool:
    """Tell whether any element is not 0."""
    return bool(np.any(gradient))


class FrozenParameters(TensorRule):
    """A parameter does not change while others do, or while it has a gradient.

    Looks at the collections ``weights`` and ``biases`` at TRAIN steps; as long as the trial has none, at all steps. A
    parameter that has exactly the same value at `patience` saved steps in a row after the first fires the rule, and the
    message tells why, as far as gradients were saved: it has a gradient, so no optimizer has it or the learning rate is
    0; its gradient is 0; or no gradient reaches it. One that moved once and still has a gradient does not fire:
    for it the learning rate has become too small. Layers that are frozen on purpose fire: leave them out of
    `tensor_regex`.

    Parameters:
        tensor_regex: Regular expressions searched in names of parameters, as a list or separated by commas. When not
            given: the collections ``weights`` and ``biases``.
        patience: For how many saved steps in a row it must stay the same; 5 when not given.

    Source:
        Parameters left out of the optimizer, and gradients cut by detach or by layers that are never used, are among
        the faults collected by Humbatova and others, Taxonomy of Real Faults in Deep Learning Systems, ICSE 2020.

    Example:
        >>> rule = create_rule("FrozenParameters", trial, {"tensor_regex": "head.*weight"})
        >>> invoke_rule(rule)
    """

    spec_name = "FrozenParameters"
    judges_tensors_alone = True
    advice = (
        "Give all parameters to the optimizer after the model is complete, and check requires_grad, detach and "
        "no_grad, layers that the forward pass never uses, and inputs that are always 0."
    )

    def configure(self) -> None:
        """Choose the tensors."""
        patterns = self.parameters["tensor_regex"]
        usual = (CollectionKeys.WEIGHTS, CollectionKeys.BIASES)
        self.selection = Selection(patterns=patterns) if patterns else Selection(collections=usual)
        self._streaks = Streaks()
        self._have_moved: set[str] = set()

    def needs(self) -> tuple[Need, ...]:
        """Return the parameters, and gradients, which may be missing."""
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return Need("parameters", self.selection), Need("gradients", gradients, is_required=False)

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return for how many steps a parameter has not changed."""
        mode = train_or_all(view)
        step = view.step_in(mode)
        earlier = None if step is None else self._before(view, name, mode, step)
        current = view.value(name)
        if earlier is None or current is None:
            return None
        is_frozen = np.array_equal(earlier, current) and not self._rounds_to_nothing(view, name, current)
        if not is_frozen:
            self._have_moved.add(name)
        length = self._streaks.observe(name, is_frozen)
        patience: int = self.parameters["patience"]
        reason = self._reason(view, name)
        fires = length >= patience and not (name in self._have_moved and reason is HAS_GRADIENT)
        return Reading(length, fires=fires, threshold=patience, severity=length, text=reason)

    def _before(self, view: StepView, name: str, mode: ModeKeys, step: int) -> Array | None:
        saved = self.views.saved_steps(name, mode, step - 1)
        global_step = view.trial.global_step(mode, saved[-1]) if saved else None
        return None if global_step is None else view.earlier_value(name, global_step)

    @staticmethod
    def _rounds_to_nothing(view: StepView, name: str, current: Array) -> bool:
        """Tell whether the gradient is only rounding noise, as that of a bias before a normalisation is."""
        gradient = gradient_in(view, name)
        size = None if gradient is None else view.statistic(gradient, norm)
        return size is not None and 0 < size < NOISE * norm(current)

    def _reason(self, view: StepView, name: str) -> str:
        gradient = gradient_in(view, name)
        if gradient is not None:
            if view.statistic(gradient, any_non_zero):
                return HAS_GRADIENT
            return "its gradient is 0"
        if any(map(scheme_of(view.trial).is_gradient, view.tensor_names)):
            return "no gradient reaches it, while others have one"
        return "gradients were not saved"

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say for how long, and why."""
        return (
            f"Parameters do not change in {naming(names)}: the first has been the same for {first.value:g} saved steps "
            f"({first.text})."
        )
