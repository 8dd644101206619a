"""AllZero: tensors that consist of zeros."""

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
    """Return the percentage of elements that are exactly 0; -0.0 is, NaN is not."""
    return 100.0 * (value.size - int(np.count_nonzero(value))) / value.size


class AllZero(TensorRule):
    """All elements of a tensor, or a given share of them, are zero.

    Looks at every saved step of every mode, and fires if at least `threshold` percent of a tensor's elements are
    exactly 0. Empty tensors, and those of which only reductions were saved, give no verdict.

    Parameters:
        collection_names: Collections whose members are looked at, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, likewise. Both given: tensors of either. One of the
            two must be given.
        threshold: Percentage of zeros from which on the rule fires; 100 when not given.

    Example:
        >>> rule = create_rule("AllZero", trial, {"collection_names": "gradients", "threshold": "99.5"})
        >>> invoke_rule(rule)
    """

    spec_name = "AllZero"
    is_stateless = True
    advice = (
        "Check what feeds the tensor: a layer that is never used or frozen, dead units, a mask, an initialisation with "
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
            f"Zeros in {describe_tensors(names)}: {first.value:.4g} % of the first are 0, the limit is "
            f"{first.threshold:g} %."
        )
