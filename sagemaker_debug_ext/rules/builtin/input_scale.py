"""InputScale: inputs of the model, or targets, that are not scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.watching import Streaks
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64


def largest_scale(inputs: Array) -> float | None:
    """Return the root mean square; None for whole numbers, which are indices, and where something is not finite."""
    if inputs.dtype.kind not in "fV":
        return None
    found = float(np.sqrt(np.mean(np.square(to_float64(inputs)))))
    return found if math.isfinite(found) else None


class InputScale(TensorRule):
    """Inputs of the model are far from the scale that networks are initialised for.

    Looks at inputs of floating-point numbers at every saved step of every mode. The rule fires if their root mean
    square is above `max_scale` or below `min_scale` at `patience` saved steps in a row. Targets of losses of
    differences (MSE, L1, …) must not be above `max_scale` either.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas;
            ``^(?!.*Loss)[A-Z][A-Za-z0-9]*_input_0$`` (the whole model's) when not given.
        targets_regex: The same for targets; ``(MSE|L1|Huber)Loss(_[0-9]+)?_input_1$`` when not given.
        max_scale: Largest root mean square; 20 when not given.
        min_scale: Least root mean square; 0.001 when not given.
        patience: For how many saved steps in a row; 3 when not given.

    Source:
        Inputs that are not normalised are the first check of Schoop, Huang and Hartmann, UMLAUT, CHI 2021.

    Example:
        >>> rule = create_rule("InputScale", trial, {"max_scale": 5})
        >>> invoke_rule(rule)
    """

    spec_name = "InputScale"
    judges_tensors_alone = True
    advice = (
        "Scale each feature, and targets of a regression, to a mean of 0 and a standard deviation of 1, or images to "
        "the range from 0 to 1."
    )

    def configure(self) -> None:
        """Choose the tensors."""
        self._targets = Selection(patterns=self.parameters["targets_regex"])
        self.selection = Selection(
            patterns=[*self.parameters["tensor_regex"], *self.parameters["targets_regex"]],
        )
        self._streaks = Streaks()

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return the root mean square of an input."""
        scale = view.statistic(name, largest_scale)
        if scale is None:
            return None
        high: float = self.parameters["max_scale"]
        low: float = 0.0 if name in view.selected(self._targets) else self.parameters["min_scale"]
        length = self._streaks.observe(name, scale > high or scale < low)
        limit = high if scale > high else low
        return Reading(scale, fires=length >= self.parameters["patience"], threshold=limit, severity=scale)

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say what the scale is."""
        return (
            f"Inputs are not scaled in {naming(names)}: the root mean square of the first is {first.value:.4g}, beyond "
            f"{first.threshold:g}."
        )
