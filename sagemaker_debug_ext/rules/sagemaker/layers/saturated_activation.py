"""SaturatedActivation: tanh and sigmoid units whose inputs lie where the function is flat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import infer_preactivation, is_inferred
from sagemaker_debug_ext.rules.inference.recovery import has_learnt
from sagemaker_debug_ext.rules.reading.bounds import active_units, num_leading_samples
from sagemaker_debug_ext.rules.reading.numeric import Array, count_along_batch
from sagemaker_debug_ext.rules.reading.screening import Screen, Screening, pass_where, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


def activation_of(name: str) -> str | None:
    """Return ``tanh`` or ``sigmoid``, whichever occurs last in a tensor's name; None if neither does."""
    lowered = name.lower()
    found = [kind for kind in ("tanh", "sigmoid") if kind in lowered]
    return max(found, key=lowered.rfind, default=None)


def recorded_activations(trial: Trial) -> dict[str, str]:
    """Return ``tanh`` or ``sigmoid`` for each such layer that the program record knows, by the layer's name."""
    layers = () if trial.program is None else trial.program.layers
    return {layer.name: layer.type.lower() for layer in layers if layer.type in ("Tanh", "Sigmoid")}


def unsaturated_percent(inputs: Array, low: float, high: float) -> Array | None:
    """Return the percentage of samples for which each node's input lies strictly between two limits.

    Args:
        inputs: A layer's input, axis 0 being the batch; a tensor of one axis is a single node.
        low: Lower limit.
        high: Upper limit.

    Returns:
        One number for every position of the remaining axes; None for fewer than two samples.
    """
    if inputs.ndim == 0 or inputs.shape[0] < 2:
        return None
    active = count_along_batch((inputs > low) & (inputs < high))
    return np.asarray(100.0 * active / inputs.shape[0])


def saturated_percent(activity: Array, threshold_inactivity: float) -> float:
    """Return the percentage of nodes whose activity is below the threshold."""
    return 100.0 * int(np.count_nonzero(activity < threshold_inactivity)) / activity.size


class SaturatedActivation(TensorRule):
    """Units with tanh or sigmoid get inputs where these functions are flat, so that no gradient passes.

    Checks the inputs of layers, at every saved step of every mode. Axis 0 is the batch, and every position of the other
    axes is one node. The limits depend on the word, ``tanh`` or ``sigmoid``, that occurs last in the tensor's name in
    lower case, or else on the class of the layer, if the hook recorded it. Other tensors are skipped.

    A node is saturated if its input lies strictly between the limits for less than `threshold_inactivity` percent of
    the samples. The rule fires if more than `threshold_layer` percent of a layer's nodes are saturated. Batches of
    fewer than two samples and tensors saved only as reductions are not evaluated.

    Parameters:
        collection_names: Collections whose tensors are checked, as a list or separated by commas.
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas. If both are given,
            tensors that match either are checked. If neither is given: ``.*tanh_input|.*sigmoid_input``.
        threshold_tanh_min: Inputs of tanh at or below this are saturated; -9.4999 when not given.
        threshold_tanh_max: Inputs of tanh at or above this are saturated; 9.4999 when not given.
        threshold_sigmoid_min: Inputs of sigmoid at or below this are saturated; -23 when not given.
        threshold_sigmoid_max: Inputs of sigmoid at or above this are saturated; 16.99999 when not given.
        threshold_inactivity: A node unsaturated for a smaller percentage of the samples is saturated; 1.0 when not
            given.
        threshold_layer: Percentage of saturated nodes above which a layer is reported; 50.0 when not given.
        unless_learning: Whether to skip steps at which a loss is at most half of its first value, because units that
            tell samples apart saturate as they learn; False when not given.

    Example:
        >>> rule = create_rule("SaturatedActivation", trial, {"threshold_tanh_min": -5, "threshold_tanh_max": 5})
        >>> invoke_rule(rule)
    """

    spec_name = "SaturatedActivation"
    is_stateless = True
    advice = (
        "Scale or normalise the inputs, initialise the weights smaller (Xavier), add normalisation before the "
        "activation, lower the learning rate, or use an activation that does not saturate."
    )

    def configure(self) -> None:
        given = self.parameters
        only_collections = given["collection_names"] and not self.is_given("tensor_regex")
        patterns = () if only_collections else given["tensor_regex"]
        self.selection = Selection(given["collection_names"], patterns)
        self._limits = {
            kind: (given[f"threshold_{kind}_min"], given[f"threshold_{kind}_max"]) for kind in ("tanh", "sigmoid")
        }
        self._recorded = recorded_activations(self.base_trial)

    def screen(self, series: TensorSeries) -> Screening:
        """Pass the steps at which the leading samples prove that enough nodes are not saturated."""
        if is_inferred(self.selection, Role.SATURATING_INPUT, self.base_trial):
            return undecided(len(series.positions))
        kind = self._kind_of(series.name)
        if kind is None:
            return np.full(len(series.positions), Screen.NO_DATA, np.int8)
        low, high = self._limits[kind]
        limits = self.parameters["threshold_inactivity"], self.parameters["threshold_layer"]
        proved = active_units(series, lambda inputs: (inputs > low) & (inputs < high), *limits)
        return pass_where(proved)

    def num_leading(self, num_entries: int) -> int:
        """Return the number of samples that `screen` reads."""
        return num_leading_samples(self.parameters["threshold_inactivity"], num_entries)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of saturated nodes of a layer."""
        kind, inputs = self._inputs(view, name)
        activity = None if kind is None or inputs is None else unsaturated_percent(inputs, *self._limits[kind])
        if activity is None:
            return None
        share = saturated_percent(activity, self.parameters["threshold_inactivity"])
        limit: float = self.parameters["threshold_layer"]
        fires = share > limit and not (self.parameters["unless_learning"] and has_learnt(view))
        return Measurement(share, fires=fires, threshold=limit, severity=share, text=kind or "")

    def _inputs(self, view: StepView, name: str) -> tuple[str | None, Array | None]:
        """Return the name of the activation and its input."""
        if is_inferred(self.selection, Role.SATURATING_INPUT, view.trial):
            return infer_preactivation(view, name) or (None, None)
        kind = self._kind_of(name)
        return kind, None if kind is None else view.value(name)

    def _kind_of(self, name: str) -> str | None:
        return activation_of(name) or self._recorded.get(re.sub(r"_input_[0-9]+$", "", name))

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        low, high = self._limits[first.text]
        return (
            f"Saturated nodes in {describe_tensors(names)}: {first.value:.1f} % of the nodes of the first have "
            f"inputs between {low:g} and {high:g} for less than {self.parameters['threshold_inactivity']:g} % of "
            f"the samples (at most {first.threshold:g} % of the nodes allowed)."
        )
