"""AllZero: tensors whose elements are zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.bounds import least_non_zero
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView


def zero_percent(value: Array) -> float:
    """Return the percentage of elements that are exactly 0. This includes -0.0, but not NaN."""
    return 100.0 * (value.size - int(np.count_nonzero(value))) / value.size


class AllZero(TensorRule):
    """All elements of a tensor, or a given percentage of them, are zero.

    Checks every saved step of every mode. The rule fires if at least `threshold` percent of a tensor's elements are
    exactly 0. Empty tensors and tensors saved only as reductions are not evaluated.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. One of the two must be given.
        threshold: Percentage of zeros at or above which the rule fires; 100 when not given.

    Example:
        >>> rule = create_rule("AllZero", trial, {"collection_names": "gradients", "threshold": "99.5"})
        >>> invoke_rule(rule)
    """

    spec_name = "AllZero"
    is_stateless = True
    advice = (
        "Check the source of the tensor: an unused or frozen layer, dead units, a mask, initialisation with "
        "zeros, or data that were not loaded."
    )

    def configure(self) -> None:
        self.selection = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which enough elements are certainly not 0."""
        share = 100.0 * (series.sizes - least_non_zero(series)) / series.sizes
        return pass_where(share < self.parameters["threshold"])

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of zeros."""
        share = view.statistic(name, zero_percent)
        if share is None:
            return None
        limit: float = self.parameters["threshold"]
        return Measurement(share, fires=share >= limit, threshold=limit, severity=share)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Zeros in {describe_tensors(names)}: {first.value:.4g} % of the elements of the first are 0 (less "
            f"than {first.threshold:g} % expected)."
        )
