"""GradientDecay: gradients shrink from layer to layer until they vanish."""

from __future__ import annotations

import math
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.statistics import mean_abs
from sagemaker_debug_ext.rules.inference.training import gradient_in, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys

MIN_LAYERS: Final = 4
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
        self._num_small = 0
        self._is_over = False

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return TensorRequirement("weights", self.selection), TensorRequirement("gradients", gradients)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if layers have hardly any gradient compared with others."""
        if not is_training(view):
            return None
        sizes = {}
        for weight in view.selected(self.selection):
            gradient = gradient_in(view, weight)
            value = None if gradient is None else view.value(gradient)
            size = None if gradient is None else view.statistic(gradient, mean_abs)
            if gradient is not None and value is not None and value.ndim > 1 and size and math.isfinite(size):
                sizes[gradient] = size
        if len(sizes) < MIN_LAYERS:
            return None
        largest = max(sizes, key=lambda name: sizes[name])
        limit: float = self.parameters["threshold"]
        small = sorted((name for name in sizes if sizes[name] < limit * sizes[largest]), key=lambda name: sizes[name])
        self._is_over = self._is_over or not small
        self._num_small += 1
        share = sizes[small[0]] / sizes[largest] if small else 1.0
        patience = 1 if share < BEYOND_DOUBT else self.parameters["patience"]
        if self._is_over or self._num_small < patience:
            return []
        text = (
            f"Gradients vanish on their way through the layers in {describe_tensors(small)}: the mean absolute "
            f"value of the first is {share:.2g} of that of {largest!r}."
        )
        return [self.found(view, text, tensors=small, value=share, threshold=limit)]
