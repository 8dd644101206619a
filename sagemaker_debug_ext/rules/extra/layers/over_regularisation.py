"""OverRegularisation: too much dropout, weight decay or label smoothing."""

from __future__ import annotations

import math
import statistics

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, observed_losses
from sagemaker_debug_ext.rules.inference.training import RollingWindow, is_training
from sagemaker_debug_ext.rules.inference.updates import FEWEST_ELEMENTS
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

MIN_ELEMENTS = 64
CLEAR = 1e-2
"""Smallest relative difference of two cross entropies from which the weights of their mixture can be computed."""
UNLIKELY = 3
"""Number of standard errors by which a share of dropped elements must exceed the limit."""
STEADY = 0.02
"""Largest distance of single steps from their median for them to have the same setting."""


@attrs.define
class Drops:
    """How many elements other than 0 a dropout layer was given so far, and how many of them it dropped."""

    num_given: int = 0
    num_dropped: int = 0

    def add(self, inputs: Array, output: Array) -> float | None:
        """Add a step, and return the fraction that was dropped in it, or None if it has too few elements."""
        given = np.count_nonzero(inputs) if inputs.shape == output.shape else 0
        if given < MIN_ELEMENTS:
            return None
        dropped = np.count_nonzero((inputs != 0) & (output == 0))
        self.num_given += given
        self.num_dropped += dropped
        return float(dropped / given)

    def exceeds(self, limit: float) -> bool:
        """Return whether a layer that drops the limit would hardly ever have dropped that much by chance."""
        error = math.sqrt(limit * (1 - limit) / self.num_given) if self.num_given else math.inf
        return self.num_dropped > (limit + UNLIKELY * error) * self.num_given


def smoothing(loss: LossObservation) -> float | None:
    """Return the label smoothing that explains the value of a cross entropy, or None if it is unclear.

    Smoothing mixes the cross entropy of the labels with that of a uniform distribution over all classes.
    """
    plain = loss.cross_entropy
    if plain is None or loss.kind != "CrossEntropy" or loss.scores.ndim != 2:
        return None
    scores = to_float64(loss.scores)
    scores = scores - scores.max(axis=1, keepdims=True)
    equal = float(np.mean(np.log(np.exp(scores).sum(axis=1, keepdims=True)) - scores))
    return (loss.value - plain) / (equal - plain) if abs(equal - plain) > CLEAR * plain else None


class OverRegularisation(BuiltinRule):
    """Dropout drops nearly everything, weight decay shrinks all weights, or labels are smoothed too much.

    Checks TRAIN steps (or steps without a mode). The rule fires in three cases:

    - A dropout layer drops more than `max_dropped` of its input, as the median over `window` steps, and in all steps so
      far by more than chance explains.
    - After `window` steps, the norms of the weights with two or more axes and at least 16 elements are, in the median,
      below `min_norm` of their first norms.
    - The value of a cross entropy shows that labels are smoothed by more than `max_smoothing`, equally at each of
      `window` steps.

    The rule needs the inputs and outputs of dropout layers, the weights, or the inputs of losses.

    Parameters:
        dropout_regex: Regular expressions searched in the names of outputs of dropout layers. When not given: the first
            outputs of layers with ``drop`` in their names.
        max_dropped: Largest fraction that a dropout layer may drop; 0.75 when not given.
        min_norm: Smallest fraction of its first norm that a weight must keep; 0.5 when not given.
        max_smoothing: Largest label smoothing; 0.5 when not given.
        window: Number of saved steps to check; 10 when not given.

    Source:
        Dropping half of the hidden units, and fewer inputs: Srivastava and others, Dropout, JMLR 2014; both faults are
        operators of DeepCrime, Humbatova, Jahangirova and Tonella, ISSTA 2021.

    Example:
        >>> rule = create_rule("OverRegularisation", trial, {"max_dropped": 0.6})
        >>> invoke_rule(rule)
    """

    spec_name = "OverRegularisation"
    advice = (
        "Depending on the message, lower the dropout probability to 0.5 or less, smooth labels less, or "
        "divide weight decay by 10 or more."
    )

    def configure(self) -> None:
        self._outputs = chosen_or(self.parameters["dropout_regex"], Role.DROPOUT_OUTPUT)
        self._weights = Selection(collections=(CollectionKeys.WEIGHTS,))
        self._drops: dict[str, Drops] = {}
        self._dropped = RollingWindow(self.parameters["window"])
        self._smoothed = RollingWindow(self.parameters["window"])
        self._first: dict[str, float] = {}
        self._num_steps = 0

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("dropout", self._outputs, is_required=False),
            TensorRequirement("weights", self._weights, is_required=False),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the regularisation is too strong."""
        if not is_training(view):
            return None
        self._num_steps += 1
        return self._evaluate_dropout(view) or self._evaluate_labels(view) or self._evaluate_weights(view)

    def _evaluate_dropout(self, view: StepView) -> list[Issue]:
        limit: float = self.parameters["max_dropped"]
        usual = {}
        for name in view.selected(self._outputs):
            inputs, output = view.value(naming_scheme_of(view.trial).input_of(name)), view.value(name)
            drops = self._drops.setdefault(name, Drops())
            share = None if inputs is None or output is None else drops.add(inputs, output)
            if share is not None:
                self._dropped.add(name, share)
            if self._dropped.is_full(name) and drops.exceeds(limit):
                usual[name] = statistics.median(self._dropped.of(name))
        names = sorted((name for name in usual if usual[name] > limit), key=lambda name: (-usual[name], name))
        if not names:
            return []
        text = (
            f"Dropout is too strong in {describe_tensors(names)}: the first drops {usual[names[0]]:.0%} of its "
            f"input (at most {limit:.0%} expected)."
        )
        return [self.found(view, text, tensors=names, value=usual[names[0]], threshold=limit)]

    def _evaluate_labels(self, view: StepView) -> list[Issue]:
        limit: float = self.parameters["max_smoothing"]
        for loss in observed_losses(view):
            share = smoothing(loss)
            if share is not None:
                self._smoothed.add(loss.name, share)
            shares = self._smoothed.of(loss.name)
            if not self._smoothed.is_full(loss.name) or share is None:
                continue
            usual = statistics.median(shares)
            if limit < usual <= 1 and max(abs(share - usual) for share in shares) < STEADY:
                text = (
                    f"Labels are smoothed too much: {usual:.0%} of the target of {loss.name!r} is the same for all "
                    f"classes (at most {limit:.0%} expected)."
                )
                return [self.found(view, text, tensors=[loss.name], value=usual, threshold=limit)]
        return []

    def _evaluate_weights(self, view: StepView) -> list[Issue] | None:
        limit: float = self.parameters["min_norm"]
        left = {}
        for name in view.selected(self._weights):
            value, size = view.value(name), view.statistic(name, norm)
            if value is None or size is None or value.ndim < 2 or value.size < FEWEST_ELEMENTS:
                continue
            first = self._first.setdefault(name, size)
            if first > 0:
                left[name] = size / first
        if not left or self._num_steps < self.parameters["window"]:
            return None
        usual = statistics.median(left.values())
        if not usual < limit:
            return []
        names = sorted((name for name in left if left[name] < limit), key=lambda name: (left[name], name))
        text = (
            f"Weights shrink in {describe_tensors(names)}: their median norm is {usual:.2%} of the initial one (at "
            f"least {limit:.2%} expected), and the first is at {left[names[0]]:.2%}."
        )
        return [self.found(view, text, tensors=names, value=usual, threshold=limit)]
