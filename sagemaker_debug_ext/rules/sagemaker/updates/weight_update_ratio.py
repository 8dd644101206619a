"""WeightUpdateRatio: updates that are too large or too small for the weights."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.updates import update_ratio
from sagemaker_debug_ext.rules.reading.bounds import update_ratio_within
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys


def earlier_step(saved_steps: Sequence[int], step: int, num_steps: int | None) -> int | None:
    """Return the step to compare with.

    Args:
        saved_steps: Steps at which the tensor was saved, ascending.
        step: The current step.
        num_steps: Number of steps to look back; the earliest saved step in that range is used. With None, the previous
            saved step is used.
    """
    position = bisect.bisect_left(saved_steps, step)
    if num_steps is None:
        return saved_steps[position - 1] if position else None
    first = bisect.bisect_left(saved_steps, step - num_steps)
    return saved_steps[first] if first < position else None


class WeightUpdateRatio(TensorRule):
    """Weights change by too much or too little for their size.

    Checks every tensor of the collection ``weights``, at the TRAIN steps, or at all steps if the trial has no TRAIN
    steps. The ratio is the norm of the change since an earlier step, divided by the norm of the earlier weight. The
    rule fires if it is above `large_threshold` or below `small_threshold`. A frozen weight has the ratio 0 and fires
    the rule, so leave it out of the collection. The first saved step, changes of shape and tensors saved only as
    reductions are not evaluated.

    Parameters:
        num_steps: Number of steps to look back; the earliest weight saved since then is used. When not given: the
            previously saved weight.
        large_threshold: Upper limit for the ratio; 10 when not given.
        small_threshold: Lower limit for the ratio; 1e-8 when not given.
        epsilon: Added to the norm in the denominator; 1e-9 when not given.

    Example:
        >>> rule = create_rule("WeightUpdateRatio", trial, {"large_threshold": 0.1, "small_threshold": "1e-5"})
        >>> invoke_rule(rule)
    """

    spec_name = "WeightUpdateRatio"
    compares_with_previous = True
    is_stateless = True
    advice = (
        "Lower the learning rate if the ratio is too large, and raise it if the ratio is too small; about "
        "0.001 is usual. A ratio of 0 means that the weight is frozen or missing from the optimizer."
    )
    selection = Selection(collections=(CollectionKeys.WEIGHTS,))

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("weights", self.selection),)

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the update ratio is certainly within both limits."""
        mode = ModeKeys.TRAIN if self._has_trained() else ModeKeys.GLOBAL
        weights = series.of_mode(mode)
        screening = undecided(len(series.positions))
        if self.parameters["num_steps"] is None and len(weights.positions) and weights.is_gapless:
            limits = self.parameters["small_threshold"], self.parameters["large_threshold"]
            proved = update_ratio_within(weights, *limits, self.parameters["epsilon"])
            screening[series.are_of(mode)] = pass_where(proved)
        return screening

    def _has_trained(self) -> bool:
        """Return whether the trial has a TRAIN step."""
        reader = self.base_trial.index_reader
        with reader.lock:
            return reader.index.last_step(ModeKeys.TRAIN) is not None

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the norm of a weight's change, divided by the norm of the weight."""
        mode = train_or_all(view)
        step = view.step_in(mode)
        earlier = None if step is None else self._earlier(view, name, mode, step)
        current = None if earlier is None else view.value(name)
        if current is None or earlier is None or current.shape != earlier.shape:
            return None
        ratio = update_ratio(current, earlier, self.parameters["epsilon"])
        large: float = self.parameters["large_threshold"]
        small: float = self.parameters["small_threshold"]
        if ratio > large:
            return Measurement(ratio, fires=True, threshold=large, severity=_distance(ratio, large), text="above")
        return Measurement(ratio, fires=ratio < small, threshold=small, severity=_distance(small, ratio), text="below")

    def _earlier(self, view: StepView, name: str, mode: ModeKeys, step: int) -> Array | None:
        saved_steps = self.views.saved_steps(name, mode, step)
        found = earlier_step(saved_steps, step, self.parameters["num_steps"])
        global_step = None if found is None else view.trial.global_step(mode, found)
        return None if global_step is None else view.earlier_value(name, global_step)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Updates do not suit the size of the weights in {describe_tensors(names)}: the first changed by "
            f"{first.value:.3g} of its norm, {first.text} the limit of {first.threshold:g}."
        )


def _distance(larger: float, smaller: float) -> float:
    """Return the distance of two positive numbers, in powers of ten."""
    if larger <= 0:
        return 0.0
    return math.log10(larger) - math.log10(smaller) if smaller > 0 else math.inf
