"""VanishingGradient: gradients that are too small for layers to learn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.statistics import mean_abs
from sagemaker_debug_ext.rules.reading.bounds import mean_abs_above
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys


class VanishingGradient(TensorRule):
    """Gradients have become so small that layers stop learning.

    Checks every tensor of the collection ``gradients``, at every saved step of every mode. The rule fires if the mean
    absolute value of any of them is below `threshold`. For tensors saved only as reductions, the saved mean of the
    absolute values (``abs_mean``) is used. Empty tensors and tensors whose mean is NaN are not evaluated.

    Parameters:
        threshold: Lower limit for the mean absolute value of a gradient tensor; 1e-7 when not given.

    Example:
        >>> rule = create_rule("VanishingGradient", trial, {"threshold": "1e-8"})
        >>> invoke_rule(rule)
    """

    spec_name = "VanishingGradient"
    is_stateless = True
    advice = (
        "Use activations that do not saturate (ReLU and its kin instead of sigmoid or tanh), initialise the weights to "
        "suit them, add normalisation or residual connections between layers, or make the network shallower."
    )
    selection = Selection(collections=(CollectionKeys.GRADIENTS,))

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("gradients", self.selection, takes_reductions=True),)

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the mean absolute value is certainly above the threshold."""
        return pass_where(mean_abs_above(series, self.parameters["threshold"]))

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the mean absolute value, from the saved reductions if the values were not saved."""
        value = view.statistic(name, mean_abs)
        if value is None:
            value = view.reductions(name).get(("mean", True))
        if value is None or math.isnan(value):
            return None
        threshold: float = self.parameters["threshold"]
        return Measurement(value, fires=value < threshold, threshold=threshold, severity=-value)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Gradients have vanished in {describe_tensors(names)}: the mean absolute value of the first is "
            f"{first.value:.3g}, below {first.threshold:g}; layers with such gradients stop learning."
        )
