"""ExplodingTensor: values that are not finite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.losses import are_gaps
from sagemaker_debug_ext.rules.inference.statistics import (
    count_nan,
    find_counter,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.bounds import all_finite
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where
from sagemaker_debug_ext.rules.reading.selection import ALL_WITHOUT_GAPS, Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.trials.index.entries import ReductionKey
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

EXTREMES: Final = (frozenset({("min", False), ("max", False)}), frozenset({("max", True)}))
"""Sets of reductions that are finite exactly if every element is: NaN spreads to them, and they cannot overflow."""
SPREADS: Final = frozenset({"std", "variance"})
"""Reductions that are NaN for a tensor of one element, whatever it is."""
SHOWING: Final = frozenset({*REDUCTIONS, *NORMS}) - SPREADS
"""Reductions that are not finite if an element is not."""


def reductions_explode(reductions: Mapping[ReductionKey, float], only_nan: bool) -> bool:
    """Return whether saved reductions show that a tensor has a non-finite or NaN value.

    The extremes decide where they were saved. Otherwise any reduction counts, although a sum or a product may overflow
    over finite elements. `SPREADS` count only where no other reduction was saved.
    """
    deciding = [reductions[key] for keys in EXTREMES if keys <= reductions.keys() for key in keys]
    showing = [number for (name, _), number in reductions.items() if name in SHOWING]
    numbers = np.array(deciding or showing or list(reductions.values()), dtype=np.float64)
    return bool(np.isnan(numbers).any() if only_nan else not np.isfinite(numbers).all())


class ExplodingTensor(TensorRule):
    """Tensors hold values that are not finite.

    Checks every saved step of every mode. The rule fires if any element of a selected tensor is NaN or, unless
    `only_nan` is set, infinite. Large finite values and integers never fire. For a tensor saved only as reductions, a
    non-finite reduction fires the rule; ``std`` and ``variance``, which are NaN for a single element, do so only where
    they were saved alone.

    In the tables of boosted trees, a leaf has NaN in place of the split. These gaps are expected, so ``trees/Split``,
    ``trees/Yes``, ``trees/No``, ``trees/Missing`` and ``trees/Category`` are checked only if a collection or a pattern
    selects them. The other columns, such as ``trees/Gain``, are always checked. A layer input whose elements are all 0
    or minus infinity is an attention mask, and is skipped in the same way. So are targets if no other tensor has values
    that are not finite, and the losses of the step are finite, because they leave these out.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. If neither is given, all tensors are checked except those of boosted
            trees that have gaps.
        only_nan: Whether to ignore infinities; False when not given.

    Example:
        >>> rule = create_rule("ExplodingTensor", trial, {"collection_names": "weights,losses", "only_nan": "True"})
        >>> invoke_rule(rule)
    """

    spec_name = "ExplodingTensor"
    is_stateless = True
    advice = (
        "Lower the learning rate, clip the gradients, and look for the source of such values: a division by "
        "zero, the logarithm of zero, bad input data, or half precision without loss scaling."
    )

    def configure(self) -> None:
        given = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])
        self.selection = given or ALL_WITHOUT_GAPS
        self.ignores_masks = not given

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("tensors", self.selection, takes_reductions=True),)

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which all elements are certainly finite."""
        return pass_where(all_finite(series))

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of non-finite elements, or, for reductions, whether one is not finite."""
        only_nan: bool = self.parameters["only_nan"]
        count = view.statistic(name, count_nan if only_nan else find_counter(name, self.ignores_masks))
        if count is not None:
            return Measurement(count, fires=count > 0, threshold=0, text=f"{count} of the elements")
        reductions = view.reductions(name)
        if not reductions:
            return None
        return Measurement(None, fires=reductions_explode(reductions, only_nan), threshold=0, text="saved reductions")

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue, unless all such values are gaps in targets that a loss leaves out."""
        fired = [name for name, measurement in measurements.items() if measurement.fires]
        if fired and self.ignores_masks and are_gaps(view, fired):
            return []
        return super().issues_of(view, measurements)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        kind = "NaN" if self.parameters["only_nan"] else "NaN or infinite"
        return f"Values that are not finite in {describe_tensors(names)}: {first.text} of the first are {kind}."
