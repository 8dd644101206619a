"""PoorWeightInitialization: the first steps reveal a bad initialisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.statistics import variance
from sagemaker_debug_ext.rules.inference.training import loss_values
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.bounds import variance_bounds
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

_FEWEST: Final = 1024
"""Number of elements from which computing a bound of the spread pays off."""


def full_variance(value: Array) -> float:
    """Return the population variance; 0 for a single element."""
    measured = variance(value)
    return 0.0 if measured is None else measured


def spread(gradient: Array) -> float | None:
    """Return the distance between the 5th and the 95th percentile, or None for fewer than two elements."""
    if gradient.size < 2 or gradient.dtype.kind == "c":
        return None
    flat = gradient.reshape(-1)
    if flat.dtype.kind not in "fiu":
        flat = to_float64(flat)
    places = (flat.size - 1) * np.array([0.05, 0.95])
    below = places.astype(int)
    above = np.minimum(below + 1, flat.size - 1)
    # the neighbours of the two percentiles, and the last element, which is NaN if any is
    ordered = np.partition(flat, sorted({*below.tolist(), *above.tolist(), flat.size - 1})).astype(np.float64)
    if np.isnan(ordered[-1]):
        return math.nan
    with np.errstate(all="ignore"):  # infinities give NaN, which never fires
        low, high = ordered[below] + (places - below) * (ordered[above] - ordered[below])
        return float(high - low)


def least_spread(gradient: Array) -> float:
    """Return a lower bound of `spread` that is cheaper to compute; NaN if none was found.

    If enough elements lie at or below one value, and enough at or above another, the percentiles lie beyond the two.
    """
    flat = gradient.reshape(-1)
    if flat.dtype.kind != "f" or flat.size < _FEWEST:
        return math.nan
    sample = np.sort(flat[:: flat.size // 128])
    low, high = sample[len(sample) // 3], sample[-len(sample) // 3]
    enough = 0.05 * flat.size + 2
    quarter = flat[: flat.size // 4]
    if np.count_nonzero(quarter <= low) < enough or np.count_nonzero(quarter >= high) < enough:
        return math.nan
    return (1 - 1e-6) * (float(high) - float(low))


@attrs.define
class _LossWatch:
    """Counts the consecutive observations that did not improve on the best."""

    best: float = math.inf
    observed: bool = False
    without_improvement: int = 0

    def observe(self, loss: float) -> int:
        if loss < self.best or not self.observed:
            self.without_improvement = 0
            self.best = math.inf if math.isnan(loss) else loss
        else:
            self.without_improvement += 1
        self.observed = True
        return self.without_improvement


T = TypeVar("T")


class _Finding(NamedTuple):
    tensors: list[str]
    value: float
    threshold: float
    text: str


class PoorWeightInitialization(BuiltinRule):
    """The first steps reveal that the weights were not initialised well.

    Checks the first `steps` saved TRAIN steps, or the first saved steps if the trial has no TRAIN steps. The rule fires
    if any of three checks fails. A check is skipped if its tensors were not saved:

    - The variances of the inputs of activations differ between layers by more than a factor of `threshold`. A variance
      of 0 makes the factor infinite.
    - The 5th and the 95th percentile of some gradient tensor are closer than `distribution_range`.
    - A loss did not fall below its best value for `patience` consecutive observations.

    Parameters:
        activation_inputs_regex: Regular expressions searched in tensor names, as a list or separated by commas;
            ``.*relu_input`` when not given.
        threshold: Largest ratio of the layers' variances; 10 when not given.
        distribution_range: Smallest distance of the two percentiles; 0.001 when not given.
        patience: Number of consecutive observations of a loss without improvement; 5 when not given.
        steps: Number of first saved steps to check; 10 when not given.

    Example:
        >>> rule = create_rule("PoorWeightInitialization", trial, {"activation_inputs_regex": "tanh_input"})
        >>> invoke_rule(rule)
    """

    spec_name = "PoorWeightInitialization"
    advice = (
        "Initialise the weights to suit their activations (He for ReLU and its kin, Xavier for tanh and sigmoid), or "
        "add normalisation layers."
    )

    def configure(self) -> None:
        self._inputs = Selection(patterns=self.parameters["activation_inputs_regex"])
        self._gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        self._losses = Selection(collections=(CollectionKeys.LOSSES,))
        self._watches: dict[str, _LossWatch] = {}
        self._last_step: int | None = None  # the global step after which none is among the first any more

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs of activations", self._inputs, is_required=False),
            TensorRequirement("gradients", self._gradients, is_required=False),
            TensorRequirement("losses", self._losses, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue for the first check that fails."""
        if self._last_step is not None and view.step > self._last_step:
            return None
        mode = train_or_all(view)
        step = view.step_in(mode)
        if step is None or not self._is_among_the_first(view, mode, step):
            return None
        variances = self._variances(view)
        spreads = self._spreads(view)
        losses = loss_values(view, self._losses)
        if not (variances or spreads or losses):
            return None
        findings = (self._check_variances(variances), self._check_spreads(spreads), self._check_losses(losses))
        found = next((finding for finding in findings if finding is not None), None)
        if found is None:
            return []
        return [self.found(view, found.text, tensors=found.tensors, value=found.value, threshold=found.threshold)]

    def _variances(self, view: StepView) -> dict[str, float]:
        """Return the variances of inputs, which are only estimates if they are certainly similar."""
        bounds = _measured(view, self._inputs, variance_bounds)
        highest = max((high for _, high in bounds.values()), default=math.nan)
        if bounds and all(low > 0 and highest <= self.parameters["threshold"] * low for low, _ in bounds.values()):
            return {name: low for name, (low, _) in bounds.items()}
        return _measured(view, self._inputs, full_variance)

    def _spreads(self, view: StepView) -> dict[str, float]:
        """Return the spreads of gradients, or their bounds for gradients far from the limit."""
        limit: float = self.parameters["distribution_range"]
        found = {}
        for name in view.selected(self._gradients):
            least = view.statistic(name, least_spread, keeps_value=False)
            measured = least if least is not None and least >= limit else view.statistic(name, spread)
            if measured is not None:
                found[name] = measured
        return found

    def _is_among_the_first(self, view: StepView, mode: ModeKeys, step: int) -> bool:
        number: int = self.parameters["steps"]
        first_steps = view.trial.steps(mode=mode)[:number]
        if mode is ModeKeys.TRAIN and len(first_steps) == number:
            self._last_step = view.trial.global_step(mode, first_steps[-1])
        return bool(first_steps) and step <= first_steps[-1]

    def _check_variances(self, variances: Mapping[str, float]) -> _Finding | None:
        if len(variances) < 2 or any(math.isnan(variance) for variance in variances.values()):
            return None
        names = sorted(variances, key=lambda name: (variances[name], name))
        smallest, largest = variances[names[0]], variances[names[-1]]
        ratio = largest / smallest if smallest > 0 else math.inf
        limit: float = self.parameters["threshold"]
        if not ratio > limit:
            return None
        text = (
            f"Variances of activation inputs differ too much between layers: {largest:.3g} in {names[-1]!r} and "
            f"{smallest:.3g} in {names[0]!r}, a ratio of {ratio:.3g} (at most {limit:g} allowed)."
        )
        return _Finding([names[0], names[-1]], ratio, limit, text)

    def _check_spreads(self, spreads: Mapping[str, float]) -> _Finding | None:
        limit: float = self.parameters["distribution_range"]
        names = sorted((name for name in spreads if spreads[name] < limit), key=lambda name: (spreads[name], name))
        if not names:
            return None
        text = (
            f"Gradients hardly differ within {describe_tensors(names)}: the 5th and the 95th percentile of the "
            f"first are {spreads[names[0]]:.3g} apart, less than {limit:g}."
        )
        return _Finding(names, spreads[names[0]], limit, text)

    def _check_losses(self, losses: Mapping[str, float]) -> _Finding | None:
        counts = {name: self._watches.setdefault(name, _LossWatch()).observe(loss) for name, loss in losses.items()}
        patience: int = self.parameters["patience"]
        names = sorted((name for name in counts if counts[name] >= patience), key=lambda name: (-counts[name], name))
        if not names:
            return None
        text = (
            f"The loss does not fall in {describe_tensors(names)}: {counts[names[0]]} observations without a "
            f"new best value."
        )
        return _Finding(names, counts[names[0]], patience, text)


def _measured(view: StepView, selection: Selection, function: Callable[[Array], T | None]) -> dict[str, T]:
    """Return a statistic of each selected tensor that has one."""
    measured = {name: view.statistic(name, function, keeps_value=False) for name in view.selected(selection)}
    return {name: value for name, value in measured.items() if value is not None}
