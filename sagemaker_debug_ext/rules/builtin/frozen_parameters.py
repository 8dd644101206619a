"""FrozenParameters: parameters that never change, with a gradient or without."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.watching import LOSSES, Streaks, gradient_in, loss_values
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.needs import Need
from sagemaker_debug_ext.rules.roles import scheme_of
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, norm, train_or_all
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

NOISE: Final = 1e-6
"""Gradients smaller than this, relative to the parameter, may change nothing that a float32 can hold."""
HAS_GRADIENT: Final = "it has a gradient, so no optimizer changes it"
ZERO_GRADIENT: Final = "its gradient is 0"
NO_GRADIENT: Final = "no gradient reaches it, while others have one"
ALL_ZERO: Final = "no parameter at all has a gradient other than 0, while the loss is not 0"
SLIVER: Final = 0.01
"""Part of all parameters that offsets and scales must be for it to matter that they do not change."""
UNIFORM: Final = 1.8
"""Largest size of an element, in terms of their spread, of what is drawn from a uniform distribution; it is √3."""


def any_non_zero(gradient: Array) -> bool:
    """Tell whether any element is not 0."""
    return bool(np.any(gradient))


def have_learnt(weights: Sequence[tuple[Array, Array | None, int]]) -> bool:
    """Tell whether layers must have been trained before, as no usual way of making new ones gives such values.

    New layers have weights of a uniform distribution, mostly up to 1 over the root of the number of inputs; or of a
    normal one with offsets that are 0 or of that same uniform distribution. So each weight must be beyond that limit
    and not uniform, and the offsets of some layer beyond it too.

    Args:
        weights: Each weight, the offset beside it if there is one, and the axis of the units.
    """
    goes_beyond = False
    for weight, offset, axis in weights:
        size, spread = float(np.abs(weight).max()), float(np.std(weight, dtype=np.float64))
        limit = math.sqrt(weight.shape[axis] / weight.size) * (1 + NOISE)
        if size <= limit or size <= UNIFORM * spread:
            return False
        goes_beyond = goes_beyond or (offset is not None and float(np.abs(offset).max()) > limit)
    return goes_beyond


class FrozenParameters(TensorRule):
    """A parameter does not change while others do, or while it has a gradient.

    Looks at the collections ``weights`` and ``biases`` at TRAIN steps; as long as the trial has none, at all steps. A
    parameter that has exactly the same value at `patience` saved steps in a row after the first fires the rule, and the
    message tells why, as far as gradients were saved: it has a gradient, so no optimizer has it or the learning rate is
    0; its gradient is 0, be it that no parameter has any other, so that the loss does not depend on the model at all;
    or no gradient reaches it. One that moved once and still has a gradient does not fire:
    for it the learning rate has become too small.

    What does no harm does not fire: offsets and scales, which have one axis, that are less than a hundredth of all
    these parameters together, and offsets whose gradient is 0 while that of the weight beside them is not: the loss
    takes no notice of such an offset, as where answers for two samples are subtracted. Nor do layers that are frozen on
    purpose, as far as that shows: no gradient reaches them, and their values cannot be those of new layers, whose
    weights are drawn from a uniform distribution or whose offsets are small. Others that are frozen on purpose fire:
    leave them out of `tensor_regex`.

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
            return ALL_ZERO if self._nothing_learns(view) else ZERO_GRADIENT
        if any(map(scheme_of(view.trial).is_gradient, view.tensor_names)):
            return NO_GRADIENT
        return "gradients were not saved"

    @staticmethod
    def _nothing_learns(view: StepView) -> bool:
        """Tell whether no gradient is other than 0, though the loss leaves something to learn."""
        gradients = [name for name in view.tensor_names if scheme_of(view.trial).is_gradient(name)]
        losses = loss_values(view, LOSSES).values()
        return any(losses) and not any(view.statistic(name, any_non_zero) for name in gradients)

    def issues_of(self, view: StepView, readings: Mapping[str, Reading]) -> list[Issue]:
        """Return the issue, unless what does not change is a sliver of the model or frozen on purpose."""
        frozen = {name: reading for name, reading in readings.items() if reading.fires}
        taken_out = {name for name, reading in frozen.items() if reading.text == ZERO_GRADIENT}
        taken_out = {name for name in taken_out if self._is_taken_out(view, name)}
        frozen = {name: reading for name, reading in frozen.items() if name not in taken_out}
        if not frozen or self._is_sliver(view, list(frozen)):
            return []
        has_none = all(reading.text == NO_GRADIENT for reading in frozen.values())
        if has_none and have_learnt(list(self._weights(view, list(frozen)))):
            return []
        return super().issues_of(view, frozen)

    def _is_taken_out(self, view: StepView, offset: str) -> bool:
        """Tell whether the loss takes no notice of an offset, as the weight beside it learns and it does not."""
        value = view.value(offset)
        if value is None or value.ndim > 1:
            return False
        bias_of = scheme_of(view.trial).bias_of
        beside = (name for name in view.selected(self.selection) if name != offset and bias_of(name) == offset)
        gradients = (gradient_in(view, name) for name in beside)
        return any(view.statistic(each, any_non_zero) for each in gradients if each is not None)

    def _is_sliver(self, view: StepView, names: Sequence[str]) -> bool:
        values = [value for name in names if (value := view.value(name)) is not None]
        if any(value.ndim > 1 for value in values):
            return False
        everything = (value.size for name in view.selected(self.selection) if (value := view.value(name)) is not None)
        return sum(value.size for value in values) < SLIVER * sum(everything)

    @staticmethod
    def _weights(view: StepView, names: Sequence[str]) -> Iterator[tuple[Array, Array | None, int]]:
        """Yield each weight of some parameters, the offset beside it, and the axis of its units."""
        scheme = scheme_of(view.trial)
        for name in names:
            weight, bias = view.value(name), scheme.bias_of(name)
            if weight is not None and weight.ndim > 1:
                axis = -1 if scheme.has_units_last(name) else 0
                is_frozen = bias != name and bias in view.tensor_names and gradient_in(view, bias) is None
                yield weight, view.value(bias) if is_frozen else None, axis

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say for how long, and why."""
        return (
            f"Parameters do not change in {naming(names)}: the first has been the same for {first.value:g} saved steps "
            f"({first.text})."
        )
