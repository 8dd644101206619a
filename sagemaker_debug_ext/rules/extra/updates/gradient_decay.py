"""GradientDecay: gradients shrink from layer to layer until they vanish."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.baselines.constant import GAIN, BaselineComparison
from sagemaker_debug_ext.rules.inference.losses import INPUTS
from sagemaker_debug_ext.rules.inference.statistics import mean_abs
from sagemaker_debug_ext.rules.inference.training import gradient_in, is_final, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys

MIN_LAYERS: Final = 4
SMALL: Final = 1e-3
"""Fraction of the largest gradient that is small enough to explain a model that learns nothing."""
NUM_LOSSES: Final = 10
"""Number of latest steps whose predictions are compared with a constant."""
MIN_STEPS: Final = 50
"""Number of steps from which on a model should have learnt something."""
BEYOND_DOUBT: Final = 1e-10
"""Fraction of the largest gradient that is too small to be explained by the scale of a layer."""


class GradientDecay(BuiltinRule):
    """The gradients of some layers are smaller than those of others by orders of magnitude: they vanish on their way.

    Checks the gradients of weights with two or more axes at TRAIN steps (or steps without a mode). Biases are skipped,
    because the gradient of a bias in front of a normalisation consists of rounding errors. Gradients that are exactly 0
    or not finite are skipped too, because a scaled loss may cause them at first.

    The rule needs at least four layers. It fires if the mean absolute gradient of one is less than `threshold` of the
    largest one at each of the first `patience` saved steps. Less than 1e-10 of it fires at once. In contrast to
    VanishingGradient, gradients that are small everywhere, as at the end of training, do not fire. Gradients that
    vanish later, for example because weights shrink, do not fire either.

    Many sound models have a layer with a thousandth of the largest gradient. Where one is smaller than that at each of
    these steps, the rule fires when the job has ended after more than 50 steps, and predictions are not better than the
    best constant, by 4 %.

    Parameters:
        threshold: Smallest mean absolute gradient, relative to that of the layer where it is largest; 1e-6 when not
            given.
        patience: Number of first saved steps; 3 when not given.

    Source:
        Hochreiter, Untersuchungen zu dynamischen neuronalen Netzen, 1991; Glorot and Bengio, Understanding the
        Difficulty of Training Deep Feedforward Neural Networks, AISTATS 2010.

    Example:
        >>> rule = create_rule("GradientDecay", trial, {"threshold": "1e-5"})
        >>> invoke_rule(rule)
    """

    spec_name = "GradientDecay"
    advice = (
        "Use activations that do not saturate (ReLU and its kin), initialise the weights to suit them, and add "
        "normalisation or residual connections between layers."
    )
    selection = Selection(collections=(CollectionKeys.WEIGHTS,))

    def configure(self) -> None:
        self._num_seen = 0
        self._is_over = False
        self._is_sound = False
        self._suspected: Issue | None = None
        self._baseline = BaselineComparison(NUM_LOSSES)
        self._compared: set[str] = set()

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return (
            TensorRequirement("weights", self.selection),
            TensorRequirement("gradients", gradients),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if layers have hardly any gradient compared with others."""
        if not is_training(view):
            return None
        if self._suspected is not None:
            self._compared.update(self._baseline.observe(view))
            if is_final(view, self._suspected.tensors[0]):
                return self._take_suspected()
        sizes = self._sizes(view)
        if len(sizes) < MIN_LAYERS:
            return None
        largest = max(sizes, key=lambda name: sizes[name])
        limit: float = self.parameters["threshold"]
        share = min(sizes.values()) / sizes[largest]
        self._num_seen += 1
        self._is_over = self._is_over or share >= limit
        self._is_sound = self._is_sound or share >= SMALL
        if not self._is_sound and self._num_seen == self.parameters["patience"]:
            self._suspected = self._vanishing(view, sizes, largest, SMALL)
        patience = 1 if share < BEYOND_DOUBT else self.parameters["patience"]
        if self._is_over or self._num_seen < patience:
            return []
        self._suspected = None
        return [self._vanishing(view, sizes, largest, limit)]

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue of small gradients, if no more steps will follow and the model has learnt nothing."""
        return self._take_suspected() if self.base_trial.loaded_all_steps else []

    def _take_suspected(self) -> list[Issue]:
        """Return the issue that is held, unless predictions are better than a constant."""
        compared = [name for name in self._compared if self._baseline.num_seen(name) >= MIN_STEPS]
        gains = [gain for name in compared if (gain := self._baseline.gain(name)) is not None]
        suspected, self._suspected = self._suspected, None
        return [suspected] if suspected is not None and gains and max(gains) < GAIN else []

    def _sizes(self, view: StepView) -> dict[str, float]:
        """Return the mean absolute values of the gradients of weights, by name."""
        sizes = {}
        for weight in view.selected(self.selection):
            gradient = gradient_in(view, weight)
            value = None if gradient is None else view.value(gradient)
            size = None if gradient is None else view.statistic(gradient, mean_abs)
            if gradient is not None and value is not None and value.ndim > 1 and size and math.isfinite(size):
                sizes[gradient] = size
        return sizes

    def _vanishing(self, view: StepView, sizes: Mapping[str, float], largest: str, limit: float) -> Issue:
        small = sorted((name for name in sizes if sizes[name] < limit * sizes[largest]), key=lambda name: sizes[name])
        share = sizes[small[0]] / sizes[largest]
        text = (
            f"Gradients vanish on their way through the layers in {describe_tensors(small)}: the mean absolute "
            f"value of the first is {share:.2g} of that of {largest!r}."
        )
        return self.found(view, text, tensors=small, value=share, threshold=limit)
