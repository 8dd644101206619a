"""UnchangedTensor: a tensor stopped changing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.bounds import differs
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView


def is_close(earlier: Array, current: Array, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Return whether all elements agree within ``atol + rtol * abs(current)``; a difference of shape is a change."""
    if earlier.shape != current.shape:
        return False
    return bool(np.allclose(to_float64(earlier), to_float64(current), rtol=rtol, atol=atol, equal_nan=equal_nan))


class UnchangedTensor(TensorRule):
    """A tensor stopped changing.

    Checks every saved step of every mode. The last `num_steps` saved values of a tensor in the mode of the step,
    including the current one, are compared. The rule fires if each earlier value agrees with the current one in every
    element within ``atol + rtol * abs(current)``. A different shape is a change. If fewer values were saved, or one of
    them is a reduction, nothing is evaluated.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. One of the two must be given.
        num_steps: Number of latest saved values that must agree; 3 when not given.
        rtol: Relative tolerance; 1e-5 when not given.
        atol: Absolute tolerance; 1e-8 when not given.
        equal_nan: Whether NaN equals NaN; False when not given.

    Example:
        >>> rule = create_rule("UnchangedTensor", trial, {"collection_names": "losses", "num_steps": "5"})
        >>> invoke_rule(rule)
    """

    spec_name = "UnchangedTensor"
    compares_with_previous = True
    is_stateless = True
    advice = (
        "Check that the optimizer has the tensor's parameters, that they are not frozen, that the learning "
        "rate is not 0 or tiny, and that each step sees new data."
    )

    def configure(self) -> None:
        self.selection = Selection(self.parameters["collection_names"], self.parameters["tensor_regex"])

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the tensor certainly differs from its previous value."""
        if not series.is_gapless:
            return undecided(len(series.positions))
        proved = differs(series, self.parameters["atol"], self.parameters["rtol"])
        # The first steps are evaluated, because the number of earlier values is unknown here.
        proved[: max(self.parameters["num_steps"] - 1 - series.num_before, 0)] = False
        return pass_where(proved)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of saved steps for which the tensor has not changed."""
        num_steps: int = self.parameters["num_steps"]
        step = view.step_in(view.mode)
        saved = () if step is None else self.views.saved_steps(name, view.mode, step)[-num_steps:]
        if len(saved) < num_steps:
            return None
        current = view.value(name)
        earlier = [self._earlier(view, name, saved_step) for saved_step in saved[:-1]]
        if current is None or any(value is None for value in earlier):
            return None
        options = (self.parameters["rtol"], self.parameters["atol"], self.parameters["equal_nan"])
        # The newest comes first, because the previous step alone usually shows a change.
        fires = all(is_close(value, current, *options) for value in reversed(earlier) if value is not None)
        return Measurement(num_steps if fires else 0, fires=fires, threshold=num_steps)

    def _earlier(self, view: StepView, name: str, mode_step: int) -> Array | None:
        global_step = view.trial.global_step(view.mode, mode_step)
        return None if global_step is None else view.earlier_value(name, global_step)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"Nothing changes in {describe_tensors(names)}: the last {first.value:g} saved values of each are equal."
