"""SimilarAcrossRuns: tensors differ from those of another run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import ALL_TENSORS, Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView, numeric_value

RTOL: Final = 1e-5
ATOL: Final = 1e-8


def times_tolerance(mine: Array, others: Array) -> float:
    """Return the largest difference of two elements, in multiples of the tolerance; infinite if the shapes differ.

    NaN equals NaN, and an infinity equals itself; neither equals anything else.
    """
    if mine.shape != others.shape:
        return float("inf")
    a, b = to_float64(mine), to_float64(others)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    with np.errstate(all="ignore"):  # infinities are compared separately
        ratio = np.abs(a - b) / (ATOL + RTOL * np.abs(b))
    differing = np.where(np.isfinite(a) & np.isfinite(b), ratio, np.inf)[~same]
    return float(np.max(differing))


class SimilarAcrossRuns(TensorRule):
    """Tensors differ from those of another run.

    Checks each global step that both trials have, and every selected tensor that both trials saved there. The rule
    fires if the shapes differ, or if any element ``a`` differs from ``b`` of the other trial by more than ``1e-8 + 1e-5
    * abs(b)``. NaN equals NaN. Steps and tensors that only one trial has are not evaluated. If several other trials are
    given, each of them is compared.

    Parameters:
        other_trials: The trials to compare with, on SageMaker as ``other_trial_0``, …: paths, as a list or separated by
            commas.
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. If neither is given, all tensors are checked.

    Example:
        >>> rule = create_rule("SimilarAcrossRuns", trial, {"other_trials": "ts_output/reference"})
        >>> invoke_rule(rule)
    """

    spec_name = "SimilarAcrossRuns"
    is_stateless = True
    advice = (
        "If the runs should be equal, compare seeds, data order, library versions and settings for "
        "deterministic kernels. Start at the first step at which the runs differ."
    )

    def configure(self) -> None:
        given = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])
        self.selection = given or ALL_TENSORS

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the distance of a tensor from its value in the other trials."""
        others = [numeric_value(trial, name, view.step) for trial in self.other_trials or ()]
        mine = None if all(other is None for other in others) else view.value(name)
        if mine is None:
            return None
        distances = [times_tolerance(mine, other) for other in others if other is not None]
        worst = max(distances)
        return Measurement(worst, fires=worst > 1, threshold=1, severity=worst)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        how = "by its shape or by values that are not finite"
        if first.value != float("inf"):
            how = f"by {first.value:.3g} times the tolerance"
        return f"The run differs from another one in {describe_tensors(names)}: the first differs {how}."
