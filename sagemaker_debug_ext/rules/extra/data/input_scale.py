"""InputScale: inputs of the model, or targets, that are not scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import reaches_layer_unchanged
from sagemaker_debug_ext.rules.inference.losses import class_labels, observed_losses
from sagemaker_debug_ext.rules.inference.training import StreakCounter
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of

MATTERS: Final = 0.75
"""Part of the mean of targets that does not matter."""
STANDS_FOR_MISSING: Final = "seems to stand for targets that are missing, as the others are scaled"


def largest_scale(inputs: Array) -> float | None:
    """Return the root mean square; None for whole numbers, which are indices, and where something is not finite."""
    if inputs.dtype.kind not in "fV":
        return None
    found = float(np.sqrt(np.mean(np.square(to_float64(inputs)))))
    return found if math.isfinite(found) else None


def scale_of_targets(targets: Array) -> float | None:
    """Return the root mean square of what is left of targets without three quarters of their mean."""
    if targets.dtype.kind not in "fV" or not targets.size:
        return None
    values = to_float64(targets)
    return largest_scale(values - MATTERS * float(values.mean()))


def placeholder(values: Array, limit: float) -> float | None:
    """Return the whole number that alone makes values too large, the others being within a limit; None if none does."""
    flat = to_float64(values).reshape(-1)
    far = float(flat[np.argmax(np.abs(flat))])
    others = flat[flat != far]
    if others.size == 0 or not far.is_integer():
        return None
    return far if float(np.sqrt(np.mean(np.square(others)))) <= limit else None


def are_numbers(view: StepView, targets: str) -> bool:
    """Return whether targets are numbers to come near to, where a name that may be of those does not tell."""
    return not naming_scheme_of(view.trial).hides_kinds or class_labels(view, targets) is None


def comes_near(view: StepView, targets: str, limit: float) -> bool:
    """Return whether answers differ from their targets by no more than a limit, as far as they were saved."""
    for loss in observed_losses(view):
        if loss.targets_name == targets and loss.scores.shape == loss.targets.shape:
            apart = to_float64(loss.scores) - to_float64(loss.targets)
            return float(np.sqrt(np.mean(np.square(apart)))) <= limit
    return False


class InputScale(TensorRule):
    """Inputs of the model are far from the scale that networks are initialised for.

    Looks at inputs of floating-point numbers at every saved step of every mode. The rule fires if their root mean
    square is above `max_scale` or below `min_scale` at `patience` saved steps in a row. Inputs do not count if layers
    were saved and none with a matrix of weights takes them as they are: then the model scales them itself, as by a
    normalisation.

    Targets of losses of differences (MSE, L1, …) must not be above `max_scale` either, where their mean counts a
    quarter only, as a single bias learns it; unless the answers are as far from 0 as they are: where the two differ by
    no more than `max_scale`, the model was told where its targets lie. If one whole number alone makes targets too
    large, the same at all of these steps, the message says that it stands for missing targets.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        targets_regex: The same for targets. When not given: those of losses of differences.
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
    has_per_tensor_state = True
    advice = (
        "Scale each feature, and targets of a regression, to a mean of 0 and a standard deviation of 1, or images to "
        "the range from 0 to 1."
    )

    def configure(self) -> None:
        self._targets = chosen_or(self.parameters["targets_regex"], Role.REGRESSION_TARGET)
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT).united_with(self._targets)
        self._streaks = StreakCounter()
        self._placeholders: dict[str, float | None] = {}

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the root mean square of an input."""
        is_target = name in view.selected(self._targets)
        scale = view.statistic(name, scale_of_targets if is_target else largest_scale)
        if scale is None:
            return None
        high: float = self.parameters["max_scale"]
        low: float = 0.0 if is_target else self.parameters["min_scale"]
        is_beyond = scale > high or scale < low
        if is_beyond and is_target:
            is_beyond = are_numbers(view, name) and not comes_near(view, name, high)
        elif is_beyond:
            is_beyond = reaches_layer_unchanged(view, name)
        length = self._streaks.observe(name, is_beyond)
        limit = high if scale > high else low
        text = self._missing(view, name, length) if is_target and length else ""
        return Measurement(
            scale, fires=length >= self.parameters["patience"], threshold=limit, severity=scale, text=text
        )

    def _missing(self, view: StepView, name: str, length: int) -> str:
        """Return what is said of targets beyond the limit for so many steps, if one number alone makes it so."""
        value = view.value(name)
        found = None if value is None else placeholder(value, self.parameters["max_scale"])
        if length > 1 and found != self._placeholders.get(name):
            found = None
        self._placeholders[name] = found
        return "" if found is None else f"; {found:g} {STANDS_FOR_MISSING}"

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Inputs are not scaled in {describe_tensors(names)}: the root mean square of the first is "
            f"{first.value:.4g}, beyond {first.threshold:g}{first.text}."
        )
