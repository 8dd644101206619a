"""FrozenParameters: parameters that never change, with a gradient or without."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.consequences import ALL_ZERO, ZERO_GRADIENT
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
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, ProgramRecord
from sagemaker_debug_ext.vocabulary import CollectionKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

NOISE: Final = 1e-6
"""Gradients smaller than this, relative to the parameter, may be lost in float32 rounding."""
HAS_GRADIENT: Final = "it has a gradient, so no optimizer changes it"
NO_GRADIENT: Final = "no gradient reaches it, while others have one"
RECURRENT: Final = re.compile(r"recurrent_kernel(:0)?$|weight_hh(_l[0-9]+)?(_reverse)?$")
"""Names of the weights of what a recurrent layer remembers of the steps before."""
NOTHING_BEFORE: Final = "its gradient is 0, as where each sequence is a single step, with nothing to remember"
NOT_COMPILED: Final = "it was set to train after the model was compiled, which takes effect when it is compiled again"
CUT_OFF: Final = "an optimizer is to train it, but no gradient ever reaches it, although others have one"
NO_BACKWARD: Final = "its optimizer has updated it without any gradient, as where no backward pass comes before"
MADE_ANEW: Final = "is made anew in each forward pass, so no optimizer trains it"
ON_PURPOSE: Final = frozenset({HAS_GRADIENT, NO_GRADIENT, CUT_OFF})
"""Message part about layers that may be frozen on purpose."""
BOTH_ZERO: Final = "it is all 0, and so is another weight, as where one multiplies what the other gives"
ZERO_LOSS: Final = "no parameter has a gradient other than 0, and the loss has been 0 since the first step"
SECOND: Final = re.compile(r"_[0-9]+_")
"""Number of a further model of a class, in the names of its parameters."""
SLIVER: Final = 0.01
"""Fraction of all parameters above which unchanged biases and scales matter."""
SCALE: Final = re.compile(r"(weight|gamma)(:0)?$")
"""Names of scales, and of other weights, which have more than one axis."""
SAME: Final = 1e-3
"""Relative difference below which scales of a layer count as equal."""
STANDS_OUT: Final = 1.3
"""Ratio to the largest singular value of a random matrix above which a singular value stands out."""
FEWEST_UNITS: Final = 4
MAX_ELEMENTS: Final = 1 << 22
"""Number of elements above which the singular values of a weight are not computed."""
UNIFORM: Final = 1.8
"""Largest magnitude of an element of a uniform distribution, in units of its standard deviation: √3."""


def have_learnt(weights: Sequence[tuple[Array, Array | None, int]], scales: Sequence[Array] = ()) -> bool:
    """Return whether layers must have been trained before, because no usual initialisation gives such values.

    The elements of a new weight are drawn independently. They follow a uniform distribution, mostly up to 1 over the
    root of the number of inputs, with biases from the same distribution or 0. Or they follow a normal distribution,
    with such biases. The scales of a new normalisation are all equal.

    Layers therefore have been trained if the scales of any differ, or if half of their weights, by size, have
    directions that stand out. They also have been trained if half of the weights are beyond that limit and not uniform,
    and the biases of some layer are beyond it too.

    Args:
        weights: Each weight, its bias if there is one, and the axis of the units.
        scales: Parameters of one axis that are not biases.
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
    """Return whether the largest singular value is larger than that of a random matrix.

    For independently drawn elements, it is about their standard deviation times the sum of the roots of both lengths.
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


def _trained_beside(trial: Trial, names: tuple[str, ...], selection: Selection) -> list[str]:
    """Return the parameters that a selection leaves out: those with a gradient, or that an optimizer is to train."""
    scheme, usual, known = naming_scheme_of(trial), set(selection.among(names, trial)), set(names)
    others = (name for name in names if name not in usual and not scheme.is_gradient(name))
    trained = (trial.program or NO_PROGRAM).trained_parameters
    return [name for name in others if name in trained or scheme.gradient_of(name, known) is not None]


def _has_gradients(view: StepView) -> bool:
    """Return whether any gradient was saved at the step."""
    return any(map(naming_scheme_of(view.trial).is_gradient, view.tensor_names))


def _are_gradients_zero(view: StepView) -> bool:
    """Return whether all gradients of a step that has a loss are 0."""
    is_gradient = naming_scheme_of(view.trial).is_gradient
    return bool(loss_values(view, LOSSES)) and not any(
        view.statistic(name, any_non_zero) for name in view.tensor_names if is_gradient(name)
    )


def _have_product(one: Array, other: Array) -> bool:
    """Return whether one weight may multiply what the other gives: it has as many inputs as that has outputs."""
    return any(first.shape[0] in (second.shape[1], second.shape[-1]) for first, second in ((one, other), (other, one)))


def _have_gradients_come(view: StepView) -> bool:
    """Return whether any gradient was saved at any step."""
    return any(map(naming_scheme_of(view.trial).is_gradient, view.trial.tensor_names()))


class FrozenParameters(TensorRule):
    """A parameter does not change although the model is trained.

    Checks the collections ``weights`` and ``biases``, and other tensors whose gradients were saved or that an optimizer
    is to train, such as position embeddings. It does so at TRAIN steps, or at all steps if the trial has no TRAIN
    steps. If gradients were saved, steps without any do not count, because no backward pass came at them. There are two
    exceptions. One is a parameter whose gradient came at a step of another model in between, as that of a generator
    comes at those of the discriminator. The other is a parameter that an optimizer has and that no gradient ever
    reaches, as where what a generator makes is detached from it. Hooks for PyTorch record what optimizers have. The
    rule then fires when the job has ended, because until then the values may be replaced, as those of a target network
    are.

    The rule fires if a parameter has exactly the same value at `patience_running` consecutive saved steps after the
    first. If the job ends before, `patience` steps suffice. If gradients were saved, the message names the reason:

    - The parameter has a gradient, so the optimizer does not have it, or the learning rate is 0.
    - The gradient is 0. If the parameter is a weight that is all 0, and so is another one that has as many inputs as
      it has outputs, or the other way round, one may multiply what the other gives, so that neither gets a gradient. If
      all gradients are 0, and the loss is not, or has been since the first step, the loss does not depend on the model
      at all.
    - No gradient reaches the parameter.
    - No parameter of its optimizer has had a gradient before the first update, by the record of the program, and no
      gradient was saved at the step: there was no backward pass.
    - A layer of Keras was set to train after the model was compiled, which was not compiled again: Keras goes on with
      the step that it has made for those that were set to train then.

    It also fires, once, if the forward pass of a PyTorch model makes a layer anew each time, after trained ones, which
    ``sagemaker-debug run`` records: nothing of what it learns stays.

    A parameter that has changed before does not fire if it has a gradient, or if no gradient reaches it, because its
    learning rate may have become too small, or it may have been frozen on purpose.

    Harmless cases do not fire. Unchanged biases and scales, which have one axis, are ignored if they hold less than a
    hundredth of the elements of all parameters and no other parameter is unchanged. A bias whose gradient is 0 is
    ignored if the gradient of the weight beside it is not: the loss cancels such a bias, for example by subtracting the
    predictions of two samples. A gradient below a millionth of the parameter's norm may be rounding noise, such as that
    of a bias before a normalisation; such a parameter counts as changed.

    The second of two models of a class does not fire if no gradient reaches it, and no optimizer has it while one has
    the other: it gets copies of that one, as a target network does.

    Layers that are recognizably frozen on purpose do not fire either. The optimizer does not have them, or no gradient
    reaches them, and their values cannot be those of new layers. The weights of new layers are drawn independently, and
    their scales are all equal. A model of which all parameters stay unchanged although any has a gradient fires in any
    case. Other layers that are frozen on purpose fire: exclude them by `tensor_regex`. For layers that are frozen at
    first and trained later, raise `patience_running`.

    Parameters:
        tensor_regex: Regular expressions searched in names of parameters, as a list or separated by commas. When not
            given: the collections ``weights`` and ``biases``, and tensors with a gradient or in an optimizer.
        patience: Number of consecutive saved steps without a change, if the job ends with them; 5 when not given.
        patience_running: Number of such steps while the job runs; 5 when not given.

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
        "Create the optimizer with all parameters, after the model is complete. Check requires_grad, detach "
        "and no_grad, layers that the forward pass never uses, and inputs that are always 0."
    )

    def configure(self) -> None:
        patterns = self.parameters["tensor_regex"]
        usual = (CollectionKeys.WEIGHTS, CollectionKeys.BIASES)
        self.selection = chosen_or(patterns, collections=usual)
        self._streaks = StreakCounter()
        self._have_moved: set[str] = set()
        self._have_come = False
        self._reasons: dict[str, str] = {}
        self._pending = DeferredMeasurements()
        self._program: ProgramRecord | None = None
        self._trained: frozenset[str] = frozenset()
        self._has_told_of_new = False

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return TensorRequirement("parameters", self.selection), TensorRequirement(
            "gradients", gradients, is_required=False
        )

    def _measure_all(self, view: StepView) -> Mapping[str, Measurement]:
        others = [name for name in self._other_parameters(view) if self._is_mine(name)]
        measured = {name: self.measure(view, name) for name in others}
        found = {name: measurement for name, measurement in measured.items() if measurement is not None}
        return {**super()._measure_all(view), **found}

    def _other_parameters(self, view: StepView) -> list[str]:
        """Return the parameters that are in neither collection, as names without "weight" or "bias" are in PyTorch."""
        return [] if self.parameters["tensor_regex"] else view.of_names(_trained_beside, self.selection)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of steps for which a parameter has not changed."""
        previous, current = view.previous(name, train_or_all(view)), view.value(name)
        if previous is None or current is None:
            return None
        is_frozen = np.array_equal(previous.value, current) and not self._rounds_to_nothing(view, name, current)
        if not is_frozen:
            self._have_moved.add(name)
            length, reason = self._streaks.observe(name, False), ""
        elif self._has_gradient_since(view, name, previous.step):
            length, reason = self._streaks.observe(name, True), HAS_GRADIENT
            self._reasons[name] = reason
        elif self._is_without_backward(view):
            is_cut_off = self._is_cut_off(view, name)
            length = self._streaks.observe(name, True) if is_cut_off else self._streaks.length(name)
            reason = CUT_OFF if is_cut_off else self._reasons.get(name, "")
        else:
            length, reason = self._streaks.observe(name, True), self._reason(view, name)
            self._reasons[name] = reason
        patience: int = min(self.parameters["patience"], self.parameters["patience_running"])
        fires = length >= patience and not (name in self._have_moved and reason in ON_PURPOSE)
        found = Measurement(length, fires=fires, threshold=patience, severity=length, text=reason)
        is_late = length >= self.parameters["patience_running"] and reason != CUT_OFF
        return self._pending.settle(view, name, found, is_late=is_late)

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def _is_without_backward(self, view: StepView) -> bool:
        """Return whether no gradient came at the step, as where a policy is asked for an action, but at others."""
        if view.once(_has_gradients):
            return False
        self._have_come = self._have_come or view.once(_have_gradients_come)
        return self._have_come

    @staticmethod
    def _has_gradient_since(view: StepView, name: str, previous: int) -> bool:
        """Return whether a gradient came only at steps of other models since a step, as that of a generator does."""
        if gradient_in(view, name) is not None or view.step_in(train_or_all(view)) is None:
            return False
        first = view.trial.global_step(train_or_all(view), previous) or 0
        for gradient in naming_scheme_of(view.trial).gradient_names(name):
            if view.trial.has_tensor(gradient):
                steps = view.trial.tensor(gradient).steps()
                after = steps[bisect.bisect_right(steps, first) :][:1]
                if after and after[0] < view.step:
                    found = view.views.value(gradient, after[0], keeps=False)
                    return found is not None and any_non_zero(found)
        return False

    def _is_cut_off(self, view: StepView, name: str) -> bool:
        """Return whether an optimizer is to train a parameter that has no gradient at any step so far."""
        program = self.base_trial.program
        if program is not self._program:
            self._program, self._trained = program, (program or NO_PROGRAM).trained_parameters
        if name not in self._trained:
            return False
        return not any(map(view.trial.has_tensor, naming_scheme_of(view.trial).gradient_names(name)))

    @staticmethod
    def _rounds_to_nothing(view: StepView, name: str, current: Array) -> bool:
        """Return whether the gradient is only rounding noise, as that of a bias before a normalisation is."""
        gradient = gradient_in(view, name)
        size = None if gradient is None else view.statistic(gradient, norm)
        return size is not None and 0 < size < NOISE * norm(current)

    def _reason(self, view: StepView, name: str) -> str:
        gradient = gradient_in(view, name)
        if gradient is not None:
            return HAS_GRADIENT if view.statistic(gradient, any_non_zero) else self._reason_of_zero(view, name)
        if naming_scheme_of(view.trial).path_of(name) in view.program.not_compiled:
            return NOT_COMPILED
        if view.once(_has_gradients):
            return NO_GRADIENT
        owners = [optimizer for optimizer in view.program.optimizers if name in optimizer.parameters]
        has_none = bool(owners) and all(optimizer.has_gradients is False for optimizer in owners)
        return NO_BACKWARD if has_none else "gradients were not saved"

    def _reason_of_zero(self, view: StepView, name: str) -> str:
        """Return why the gradient of a parameter is 0."""
        if self._is_zero_beside_another(view, name):
            return BOTH_ZERO
        if view.once(_are_gradients_zero):
            if any(loss_values(view, LOSSES).values()):
                return ALL_ZERO
            if not self._have_moved:
                return ZERO_LOSS
        return NOTHING_BEFORE if RECURRENT.search(name) else ZERO_GRADIENT

    def _is_zero_beside_another(self, view: StepView, name: str) -> bool:
        """Return whether a weight is all 0, and another one that its product with it is defined for, as well."""
        weight = view.value(name)
        if weight is None or weight.ndim < 2 or weight.any():
            return False
        names = (other for other in (*view.selected(self.selection), *self._other_parameters(view)) if other != name)
        others = (value for other in names if (value := view.value(other)) is not None and value.ndim > 1)
        return any(_have_product(weight, other) and not other.any() for other in others)

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue, unless the unchanged parameters are a tiny part of the model or frozen on purpose.

        Once, there is also one of layers that each forward pass makes anew.
        """
        return [*self._issues_of_new_layers(view), *self._issues_of_frozen(view, measurements)]

    def _issues_of_new_layers(self, view: StepView) -> list[Issue]:
        shapes = () if self._has_told_of_new or self.parameters["tensor_regex"] else view.program.made_anew
        self._has_told_of_new = self._has_told_of_new or bool(shapes)
        message = f"A layer with parameters of shape {shapes[0]} {MADE_ANEW}." if shapes else ""
        return [self.issue(view.step, message, advice=self.advice)] if shapes else []

    def _issues_of_frozen(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        frozen = {name: reading for name, reading in measurements.items() if reading.fires}
        taken_out = {name for name, reading in frozen.items() if reading.text == ZERO_GRADIENT}
        taken_out = {name for name in taken_out if self._is_taken_out(view, name)}
        copied = {
            name for name, reading in frozen.items() if reading.text == NO_GRADIENT and self._is_copied(view, name)
        }
        frozen = {name: reading for name, reading in frozen.items() if name not in taken_out | copied}
        if not frozen or self._is_sliver(view, list(frozen)):
            return []
        return [] if self._are_meant(view, frozen) else super().issues_of(view, frozen)

    def _is_taken_out(self, view: StepView, offset: str) -> bool:
        """Return whether the loss cancels a bias: the weight beside it learns, and the bias does not."""
        value = view.value(offset)
        if value is None or value.ndim > 1:
            return False
        bias_of = naming_scheme_of(view.trial).bias_of
        beside = (name for name in view.selected(self.selection) if name != offset and bias_of(name) == offset)
        gradients = (gradient_in(view, name) for name in beside)
        return any(view.statistic(gradient, any_non_zero) for gradient in gradients if gradient is not None)

    def _is_copied(self, view: StepView, name: str) -> bool:
        """Return whether a parameter is of a second model of a class, which gets copies of the one that is trained.

        No optimizer has it, as that of a target network, and an optimizer has its counterpart in the other model.
        """
        trained = view.program.trained_parameters
        if not trained or name in trained:
            return False
        return any(SECOND.sub("_", other, 1) == SECOND.sub("_", name, 1) for other in trained)

    def _is_sliver(self, view: StepView, names: Sequence[str]) -> bool:
        values = [value for name in names if (value := view.value(name)) is not None]
        if any(value.ndim > 1 for value in values):
            return False
        everything = (value.size for name in view.selected(self.selection) if (value := view.value(name)) is not None)
        return sum(value.size for value in values) < SLIVER * sum(everything)

    def _are_meant(self, view: StepView, frozen: Mapping[str, Measurement]) -> bool:
        """Return whether layers are frozen on purpose, evaluating by the saved values."""
        reasons = {reading.text for reading in frozen.values()}
        is_all = HAS_GRADIENT in reasons and all(name in frozen for name in view.selected(self.selection))
        if is_all or not reasons <= ON_PURPOSE:
            return False
        return have_learnt(list(self._weights(view, list(frozen))), list(self._scales(view, list(frozen))))

    @staticmethod
    def _scales(view: StepView, names: Sequence[str]) -> Iterator[Array]:
        """Yield the parameters that are scales of normalisations."""
        for name in names:
            value = view.value(name) if SCALE.search(name) else None
            if value is not None and value.ndim == 1:
                yield value

    def _weights(self, view: StepView, names: Sequence[str]) -> Iterator[tuple[Array, Array | None, int]]:
        """Yield each weight among some parameters, with its bias and the axis of its units."""
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
