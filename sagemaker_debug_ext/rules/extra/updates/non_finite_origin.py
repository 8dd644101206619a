"""NonFiniteOrigin: the first tensor, in the order of computation, that is not finite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule
from sagemaker_debug_ext.rules.inference.losses import are_gaps
from sagemaker_debug_ext.rules.inference.statistics import find_counter
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.bounds import all_finite
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

WEIGHTS: Final = Selection(collections=(CollectionKeys.WEIGHTS, CollectionKeys.BIASES))
ALL_BUT_TREES: Final = Selection(patterns=("^(?!trees/)",))


class NonFiniteOrigin(TensorRule):
    """The layer at which NaN or infinity first appears.

    Checks every saved step of every mode. A hook saves tensors in the order of computation: weights, the inputs and
    outputs of layers in forward order, the loss, and gradients in backward order. In Keras and MXNet, weights are saved
    after the update and come last.

    The rule fires at a step with values that are not finite, as in ExplodingTensor. It names the first such tensor in
    that order, and the last finite tensor before it: the error occurred between the two. The advice names both, and
    depends on whether the first is a weight.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. If neither is given, all tensors are checked except ``trees/…``,
            tables of boosted trees in which NaN marks an empty cell. Targets do not count then if no other tensor has
            such values and the losses of the step are finite, because they leave these out.

    Source:
        Localising the first faulty layer by following values through the forward and the backward pass: Wardat, Le and
        Rajan, DeepLocalize, ICSE 2021.

    Example:
        >>> rule = create_rule("NonFiniteOrigin", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "NonFiniteOrigin"
    is_stateless = True
    advice = (
        "Inspect the operation between the two tensors: a division by zero, a logarithm or root of 0, an "
        "exponential, or values beyond half precision. If the first such tensor is a weight, the previous "
        "update was too large."
    )

    def configure(self) -> None:
        given = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])
        self.selection = given or ALL_BUT_TREES
        self.ignores_masks = not given

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which all elements are certainly finite."""
        return pass_where(all_finite(series))

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of elements that are not finite."""
        count = view.statistic(name, find_counter(name, self.ignores_masks))
        return None if count is None else Measurement(count, fires=count > 0, threshold=0)

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue that names the first tensor that is not finite."""
        fired = [name for name, measurement in measurements.items() if measurement.fires]
        if not fired or (self.ignores_masks and are_gaps(view, fired)):
            return []
        computed_late = naming_scheme_of(view.trial).computed_late
        ordered = sorted(measurements, key=lambda name: (computed_late(name), view.place(name), name))
        position = next(index for index, name in enumerate(ordered) if measurements[name].fires)
        names = [name for name in ordered[position:] if measurements[name].fires]
        first = measurements[names[0]]
        before = f", {ordered[position - 1]!r} before it is finite" if position else ""
        number = f"{len(names)} of the {len(measurements)} tensors of the step have such values"
        message = f"{self.describe(names, first)}{before}; {number}."
        issue = self.found(view, message, tensors=names, value=first.value, threshold=first.threshold)
        return [attrs.evolve(issue, advice=_advice(view, names[0], ordered[position - 1] if position else None))]

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"Values that are not finite begin in {names[0]!r}: {first.value} of its elements are NaN or infinite"


def _advice(view: StepView, first: str, before: str | None) -> str:
    """Return what to try, given the first tensor that is not finite and the last finite one before it, if any."""
    if first in view.selected(WEIGHTS):
        return f"{first!r} is a parameter: look for an update that was too large, or for code that sets it."
    if before is None:
        return f"Nothing was saved before {first!r}: check the data, and save more of what it is computed from."
    return (
        f"Inspect the operation between {before!r}, the last finite tensor, and {first!r}, the first that is not: "
        "a division by zero, a logarithm or root of 0, an exponential, or values beyond half precision."
    )
