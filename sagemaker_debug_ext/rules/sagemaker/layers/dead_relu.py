"""DeadRelu: ReLU units that hardly ever output a positive value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import is_inferred, may_be_rectified
from sagemaker_debug_ext.rules.reading.bounds import active_units, num_leading_samples
from sagemaker_debug_ext.rules.reading.numeric import Array, count_along_batch
from sagemaker_debug_ext.rules.reading.screening import Screening, pass_where, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role


def unit_activity_percent(output: Array) -> Array | None:
    """Return the percentage of samples for which each unit's output is positive.

    Args:
        output: A layer's output, axis 0 being the batch; a tensor of one axis is a single unit.

    Returns:
        One number for every position of the remaining axes; None for fewer than two samples, as one sample cannot tell
        a dead unit from an idle one.
    """
    if output.ndim == 0 or output.shape[0] < 2:
        return None
    return np.asarray(100.0 * count_along_batch(output > 0) / output.shape[0])


def dead_percent(activity: Array, threshold_inactivity: float) -> float:
    """Return the percentage of units whose activity is below the threshold."""
    return 100.0 * int(np.count_nonzero(activity < threshold_inactivity)) / activity.size


class DeadRelu(TensorRule):
    """ReLU units (almost) never output a positive value.

    Checks the outputs of layers, at every saved step of every mode. Axis 0 is the batch, and every position of the
    other axes is one unit. A unit is dead if it is positive for less than `threshold_inactivity` percent of the
    samples. The rule fires if more than `threshold_layer` percent of a layer's units are dead. Each step is evaluated
    on its own. Batches of fewer than two samples and tensors saved only as reductions are not evaluated.

    Parameters:
        tensor_regex: Regular expressions searched in the names of layer outputs, as a list or separated by commas;
            ``.*relu_output`` when not given.
        threshold_inactivity: A unit active for a smaller percentage of the samples is dead; 1.0 when not given.
        threshold_layer: Percentage of dead units above which a layer is reported; 50.0 when not given.

    Example:
        >>> rule = create_rule("DeadRelu", trial, {"tensor_regex": "relu[0-9]_output", "threshold_layer": 30})
        >>> invoke_rule(rule)
    """

    spec_name = "DeadRelu"
    is_stateless = True
    advice = (
        "Lower the learning rate, initialise the weights for ReLU (He) with biases at or slightly above zero, or use "
        "an activation that passes negative values, such as leaky ReLU, ELU or GELU."
    )

    def configure(self) -> None:
        self.selection = Selection(patterns=self.parameters["tensor_regex"])

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the leading samples prove that enough units are alive."""
        if self._is_guess():  # because only all values show whether the outputs are those of a ReLU
            return undecided(len(series.positions))
        limits = self.parameters["threshold_inactivity"], self.parameters["threshold_layer"]
        return pass_where(active_units(series, lambda output: output > 0, *limits))

    def num_leading(self, num_entries: int) -> int:
        """Return the number of samples that `screen` reads."""
        return num_leading_samples(self.parameters["threshold_inactivity"], num_entries)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of dead units of a layer."""
        if self._is_guess() and not may_be_rectified(view, name):
            return None
        activity = view.statistic(name, unit_activity_percent)
        if activity is None:
            return None
        dead = dead_percent(activity, self.parameters["threshold_inactivity"])
        limit: float = self.parameters["threshold_layer"]
        return Measurement(dead, fires=dead > limit, threshold=limit, severity=dead)

    def _is_guess(self) -> bool:
        return is_inferred(self.selection, Role.RELU_OUTPUT, self.base_trial)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Dead units in {describe_tensors(names)}: {first.value:.1f} % of the units of the first are positive "
            f"for less than {self.parameters['threshold_inactivity']:g} % of the samples (at most "
            f"{first.threshold:g} % of the units allowed)."
        )
