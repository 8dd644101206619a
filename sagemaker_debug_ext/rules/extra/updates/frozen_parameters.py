"""FrozenParameters: parameters that never change, with a gradient or without."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    DeferredMeasurements,
    StreakCounter,
    gradient_in,
    loss_values,
)
from sagemaker_debug_ext.rules.inference.updates import any_non_zero
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

NOISE: Final = 1e-6
"""Gradients smaller than this, relative to the parameter, may change nothing that a float32 can hold."""
HAS_GRADIENT: Final = "it has a gradient, so no optimizer changes it"
ZERO_GRADIENT: Final = "its gradient is 0"
NO_GRADIENT: Final = "no gradient reaches it, while others have one"
ON_PURPOSE: Final = frozenset({HAS_GRADIENT, NO_GRADIENT})
"""What may be said of layers that are frozen on purpose."""
ALL_ZERO: Final = "no parameter at all has a gradient other than 0, while the loss is not 0"
SLIVER: Final = 0.01
"""Part of all parameters that offsets and scales must be for it to matter that they do not change."""
SCALE: Final = re.compile(r"(weight|gamma)(:0)?$")
"""Names of scales, and of other weights, which have more than one axis."""
SAME: Final = 1e-3
"""Part of its size by which a scale may differ from the others of its layer and still be the same."""
STANDS_OUT: Final = 1.3
"""How many times the largest singular value of random numbers one must be to stand out."""
FEWEST_UNITS: Final = 4
MAX_ELEMENTS: Final = 1 << 22
"""Size of a weight beyond which its singular values are not computed."""
UNIFORM: Final = 1.8
"""Largest size of an element, in terms of their spread, of what is drawn from a uniform distribution; it is √3."""


def have_learnt(weights: Sequence[tuple[Array, Array | None, int]], scales: Sequence[Array] = ()) -> bool:
    """Return whether layers must have been trained before, as no usual way of making new ones gives such values.

    New layers have weights that are drawn at random, each by itself: of a uniform distribution, mostly up to 1 over the
    root of the number of inputs, with offsets of the same one or 0; or of a normal one with offsets that are. And the
    scales of new normalisations are all the same. So layers have been trained if the scales of any differ, if half of
    their weights, by size, have directions that stand out, or if half are beyond that limit and not uniform, and the
    offsets of some layer beyond it too.

    Args:
        weights: Each weight, the offset beside it if there is one, and the axis of the units.
        scales: Parameters of one axis that are no offsets.
    """
    if any(float(np.ptp(scale)) > SAME * float(np.abs(scale).max()) for scale in scales if scale.size > 1):
        return True
    everything = sum(weight.size for weight, _, _ in weights)
    if 2 * sum(weight.size for weight, _, axis in weights if has_directions(weight, axis)) > everything:
        return True
    num_beyond, goes_beyond = 0, False
    for weight, offset, axis in weights:
        size, spread = float(np.abs(weight).max()), float(np.std(weight, dtype=np.float64))
        limit = math.sqrt(weight.shape[axis] / weight.size) * (1 + NOISE)
        if size > limit and size > UNIFORM * spread:
            num_beyond += weight.size
            goes_beyond = goes_beyond or (offset is not None and float(np.abs(offset).max()) > limit)
    return goes_beyond and 2 * num_beyond > everything


def has_directions(weight: Array, axis: int) -> bool:
    """Return whether the largest singular value is one that a matrix of random numbers would not have.

    That of numbers drawn each by itself is about their spread times the sum of the roots of both lengths.
    """
    matrix = np.moveaxis(to_float64(weight), axis, 0).reshape(weight.shape[axis], -1)
    rows, columns = matrix.shape
    spread = math.sqrt(float(np.mean(np.square(matrix))))
    if min(rows, columns) < FEWEST_UNITS or matrix.size > MAX_ELEMENTS or not np.ptp(matrix) or not spread > 0:
        return False
    if not np.isfinite(matrix).all():
        return False
    largest = float(np.linalg.norm(matrix, 2))
    return largest > STANDS_OUT * spread * (math.sqrt(rows) + math.sqrt(columns))


class FrozenParameters(TensorRule):
    """A parameter does not change while others do, or while it has a gradient.

    Looks at the collections ``weights`` and ``biases`` at TRAIN steps; as long as the trial has none, at all steps. A
    parameter that has exactly the same value at `patience_running` saved steps in a row after the first fires the rule,
    or at `patience` until the job has ended, if they are fewer; and the message tells why, as far as gradients were
    saved: it has a gradient, so no optimizer has it or the learning rate is 0; its gradient is 0, be it that no
    parameter has any other, so that the loss does not depend on the model at all; or no gradient reaches it. One that
    moved once does not fire, unless its gradient is 0: for it the learning rate has become too small, or it has been
    frozen on purpose.

    What does no harm does not fire: offsets and scales, which have one axis, that are less than a hundredth of all
    these parameters together, and offsets whose gradient is 0 while that of the weight beside them is not: the loss
    takes no notice of such an offset, as where answers for two samples are subtracted. Nor do layers that are frozen on
    purpose, as far as that shows: the optimizer has not got them or no gradient reaches them, and their values cannot
    be those of new layers, whose weights are drawn each by itself and whose scales are all the same. Others that are
    frozen on purpose fire: leave them out of `tensor_regex`. For layers that are frozen at first and trained later
    raise `patience_running`.

    Parameters:
        tensor_regex: Regular expressions searched in names of parameters, as a list or separated by commas. When not
            given: the collections ``weights`` and ``biases``.
        patience: For how many saved steps in a row it must stay the same if the job ends with them; 5 when not given.
        patience_running: The same if it runs on; 5 when not given.

    Source:
        Parameters left out of the optimizer, and gradients cut by detach or by layers that are never used, are among
        the faults collected by Humbatova and others, Taxonomy of Real Faults in Deep Learning Systems, ICSE 2020.

    Example:
        >>> rule = create_rule("FrozenParameters", trial, {"tensor_regex": "head.*weight"})
        >>> invoke_rule(rule)
    """

    spec_name = "FrozenParameters"
    has_per_tensor_state = True
    advice = (
        "Give all parameters to the optimizer after the model is complete, and check requires_grad, detach and "
        "no_grad, layers that the forward pass never uses, and inputs that are always 0."
    )

    def configure(self) -> None:
        patterns = self.parameters["tensor_regex"]
        usual = (CollectionKeys.WEIGHTS, CollectionKeys.BIASES)
        self.selection = Selection(patterns=patterns) if patterns else Selection(collections=usual)
        self._streaks = StreakCounter()
        self._have_moved: set[str] = set()
        self._pending = DeferredMeasurements()

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return TensorRequirement("parameters", self.selection), TensorRequirement(
            "gradients", gradients, is_required=False
        )

    def measure(self, view: StepView, name: str) -> Measurement | None:
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
        patience: int = min(self.parameters["patience"], self.parameters["patience_running"])
        reason = self._reason(view, name)
        fires = length >= patience and not (name in self._have_moved and reason in ON_PURPOSE)
        found = Measurement(length, fires=fires, threshold=patience, severity=length, text=reason)
        return self._pending.settle(view, name, found, is_late=length >= self.parameters["patience_running"])

    def issues_while_waiting(self) -> list[Issue]:
        """Return what was found at the last steps, if no others are to come."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def _before(self, view: StepView, name: str, mode: ModeKeys, step: int) -> Array | None:
        saved = self.views.saved_steps(name, mode, step - 1)
        global_step = view.trial.global_step(mode, saved[-1]) if saved else None
        return None if global_step is None else view.earlier_value(name, global_step)

    @staticmethod
    def _rounds_to_nothing(view: StepView, name: str, current: Array) -> bool:
        """Return whether the gradient is only rounding noise, as that of a bias before a normalisation is."""
        gradient = gradient_in(view, name)
        size = None if gradient is None else view.statistic(gradient, norm)
        return size is not None and 0 < size < NOISE * norm(current)

    def _reason(self, view: StepView, name: str) -> str:
        gradient = gradient_in(view, name)
        if gradient is not None:
            if view.statistic(gradient, any_non_zero):
                return HAS_GRADIENT
            return ALL_ZERO if self._nothing_learns(view) else ZERO_GRADIENT
        if any(map(naming_scheme_of(view.trial).is_gradient, view.tensor_names)):
            return NO_GRADIENT
        return "gradients were not saved"

    @staticmethod
    def _nothing_learns(view: StepView) -> bool:
        """Return whether no gradient is other than 0, though the loss leaves something to learn."""
        gradients = [name for name in view.tensor_names if naming_scheme_of(view.trial).is_gradient(name)]
        losses = loss_values(view, LOSSES).values()
        return any(losses) and not any(view.statistic(name, any_non_zero) for name in gradients)

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue, unless what does not change is a sliver of the model or frozen on purpose."""
        frozen = {name: reading for name, reading in measurements.items() if reading.fires}
        taken_out = {name for name, reading in frozen.items() if reading.text == ZERO_GRADIENT}
        taken_out = {name for name in taken_out if self._is_taken_out(view, name)}
        frozen = {name: reading for name, reading in frozen.items() if name not in taken_out}
        if not frozen or self._is_sliver(view, list(frozen)):
            return []
        return [] if self._are_meant(view, frozen) else super().issues_of(view, frozen)

    def _is_taken_out(self, view: StepView, offset: str) -> bool:
        """Return whether the loss takes no notice of an offset, as the weight beside it learns and it does not."""
        value = view.value(offset)
        if value is None or value.ndim > 1:
            return False
        bias_of = naming_scheme_of(view.trial).bias_of
        beside = (name for name in view.selected(self.selection) if name != offset and bias_of(name) == offset)
        gradients = (gradient_in(view, name) for name in beside)
        return any(view.statistic(each, any_non_zero) for each in gradients if each is not None)

    def _is_sliver(self, view: StepView, names: Sequence[str]) -> bool:
        values = [value for name in names if (value := view.value(name)) is not None]
        if any(value.ndim > 1 for value in values):
            return False
        everything = (value.size for name in view.selected(self.selection) if (value := view.value(name)) is not None)
        return sum(value.size for value in values) < SLIVER * sum(everything)

    def _are_meant(self, view: StepView, frozen: Mapping[str, Measurement]) -> bool:
        """Return whether layers are frozen on purpose, as far as that shows."""
        reasons = {reading.text for reading in frozen.values()}
        is_all = HAS_GRADIENT in reasons and all(name in frozen for name in view.selected(self.selection))
        if is_all or not reasons <= ON_PURPOSE:
            return False
        return have_learnt(list(self._weights(view, list(frozen))), list(self._scales(view, list(frozen))))

    @staticmethod
    def _scales(view: StepView, names: Sequence[str]) -> Iterator[Array]:
        """Yield those of some parameters that are scales, as normalisations have them."""
        for name in names:
            value = view.value(name) if SCALE.search(name) else None
            if value is not None and value.ndim == 1:
                yield value

    def _weights(self, view: StepView, names: Sequence[str]) -> Iterator[tuple[Array, Array | None, int]]:
        """Yield each weight of some parameters, the offset beside it, and the axis of its units."""
        scheme = naming_scheme_of(view.trial)
        for name in names:
            weight, bias = view.value(name), scheme.bias_of(name)
            if weight is not None and weight.ndim > 1:
                axis = -1 if scheme.has_units_last(name) else 0
                is_frozen = bias in names or (bias in view.tensor_names and bias not in view.selected(self.selection))
                yield weight, view.value(bias) if bias != name and is_frozen else None, axis

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Parameters do not change in {describe_tensors(names)}: the first has been the same for "
            f"{first.value:g} saved steps ({first.text})."
        )
