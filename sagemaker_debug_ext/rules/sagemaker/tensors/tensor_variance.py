"""TensorVariance: a variance out of bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.statistics import variance
from sagemaker_debug_ext.rules.reading.bounds import MARGIN
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView


class TensorVariance(TensorRule):
    """The variance of a tensor is too large or too small.

    Checks tensors of at least two elements, at every saved step of every mode. The rule fires if the variance over all
    elements is above `max_threshold` or below `min_threshold`. For tensors saved only as reductions, the saved variance
    is used. A limit that is not given is not checked.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. One of the two must be given.
        max_threshold: Upper limit of the variance.
        min_threshold: Lower limit of the variance.

    Example:
        >>> rule = create_rule("TensorVariance", trial, {"collection_names": "weights", "max_threshold": 10})
        >>> invoke_rule(rule)
    """

    spec_name = "TensorVariance"
    is_stateless = True
    screen_needs_sums = True
    advice = (
        "If the variance is too large, check the initialisation, the scale of the inputs and the learning "
        "rate. If it is too small, check whether all units compute the same."
    )

    def configure(self) -> None:
        self.selection = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("tensors", self.selection, takes_reductions=True),)

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the variance is certainly within both limits."""
        squares = series.mean_squares
        high, low = self.parameters["max_threshold"], self.parameters["min_threshold"]
        proved = np.isfinite(squares) & (series.sizes > 1)
        if high is not None:
            proved &= squares * (1 + MARGIN) < high  # because the variance is at most the mean square
        if low is not None:
            proved &= squares * (1 - MARGIN) - np.square(series.sums / series.sizes) > low
        return pass_where(proved)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the variance of a tensor."""
        if view.value(name) is None:
            measured = view.reductions(name).get(("variance", False))
        else:
            measured = view.statistic(name, variance)
        if measured is None:
            return None
        high, low = self.parameters["max_threshold"], self.parameters["min_threshold"]
        if high is not None and measured > high:
            return Measurement(measured, fires=True, threshold=high, severity=measured, text="above")
        return Measurement(measured, fires=low is not None and measured < low, threshold=low, text="below")

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Variance out of bounds in {describe_tensors(names)}: that of the first is {first.value:.4g}, "
            f"{first.text} the limit of {first.threshold:g}."
        )
