"""VanishingGradient: gradients have become too small for layers to learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sagemaker_debug_ext.rules.builtin.base import BuiltinRule, naming
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64
from sagemaker_debug_ext.vocabulary import CollectionKeys


def mean_abs(gradient: Array) -> float:
    """Return the mean absolute value, computed in double precision."""
    return float(np.mean(np.abs(to_float64(gradient))))


def vanished(mean_abs_values: Mapping[str, float], threshold: float) -> list[str]:
    """Return the names whose value is below `threshold`, the smallest first; NaN is never below."""
    below = [name for name, value in mean_abs_values.items() if value < threshold]
    return sorted(below, key=lambda name: (mean_abs_values[name], name))


class VanishingGradient(BuiltinRule):
    """Gradients have become so small that layers stop learning.

    Looks at every tensor of the collection ``gradients``, at every saved step of every mode, and fires if the mean
    absolute value of any of them is below `threshold`. Where the hook saved only reductions, the saved mean of the
    absolute values (``abs_mean``) is used. Empty tensors and those whose mean is NaN give no verdict.

    Parameters:
        threshold: Lower limit for the mean absolute value of a gradient tensor; 1e-7 when not given.

    Example:
        >>> rule = create_rule("VanishingGradient", trial, {"threshold": "1e-8"})
        >>> invoke_rule(rule)
    """

    spec_name = "VanishingGradient"
    advice = (
        "Use activations that do not saturate (ReLU and its kin instead of sigmoid or tanh), initialise the weights to "
        "suit them, add normalisation or residual connections between layers, or make the network shallower."
    )
    selection = Selection(collections=(CollectionKeys.GRADIENTS,))

    def find_issues(self, step: int) -> Iterator[Issue]:
        """Yield an issue that names the tensors with vanished gradients, the smallest first."""
        view = self.views.at(step)
        threshold: float = self.parameters["threshold"]
        measured = {name: value for name in self.selection.names(view) if (value := _measure(view, name)) is not None}
        names = vanished(measured, threshold)
        if names:
            smallest = measured[names[0]]
            message = (
                f"Gradients have vanished in {naming(names)}: the mean absolute value of the first is {smallest:.3g}, "
                f"below {threshold:g}; layers with such gradients stop learning."
            )
            yield self.found(view, message, tensors=names, value=smallest, threshold=threshold)


def _measure(view: StepView, name: str) -> float | None:
    value = view.statistic(name, mean_abs)
    return view.reductions(name).get(("mean", True)) if value is None else value
