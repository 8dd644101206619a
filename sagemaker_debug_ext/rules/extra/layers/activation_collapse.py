"""ActivationCollapse: a layer has nearly the same output for every sample."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import SINCE_FIRST
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS, MODEL_OUTPUTS
from sagemaker_debug_ext.rules.inference.recovery import ProvisionalIssues
from sagemaker_debug_ext.rules.inference.statistics import variation
from sagemaker_debug_ext.rules.inference.training import (
    StreakCounter,
    is_training,
    parameters_beside,
    value_before_update,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

DROPOUT: Final = Selection(roles=(Role.DROPOUT_OUTPUT,))
ANSWERS: Final = Selection(roles=(Role.PREDICTION,))
LAYER_INPUTS: Final = Selection(roles=(Role.LAYER_INPUT,))
LAYER_OUTPUTS: Final = Selection(roles=(Role.LAYER_OUTPUT,))
ATTENTION: Final = re.compile("attn|attention", re.IGNORECASE)
SILENT: Final = 1e-8
"""Fraction of its input that a layer passes on if all its units are far in their flat range."""
ROUNDING: Final = 1e-6
"""Variation of values that are equal up to the order of summation."""
IS_FLAT: Final = "has no weights and maps different inputs to the same output"
WAS_FLAT: Final = f"{IS_FLAT}, {SINCE_FIRST}"
OF_ONE: Final = f"has no weights and gives 1 everywhere, {SINCE_FIRST}, as a softmax over an axis with a single entry"
CUT: Final = f"gets the same input for every sample, {SINCE_FIRST}, although the samples differ"
"""Message parts on the place where outputs became equal, if it is known."""
VARIED: Final = "it varied at earlier steps"
"""Message part on outputs that have become equal, at a place that is not known."""


def size(output: Array) -> float | None:
    """Return the root mean square, or None for values that are not floating-point numbers."""
    return float(np.sqrt(np.mean(np.square(to_float64(output))))) if output.dtype.kind in "fV" else None


def differs(batch: Array) -> bool:
    """Return whether any sample of a batch differs from the first."""
    return batch.ndim > 0 and bool(np.any(batch != batch[:1]))


def _bias_beside(trial: Trial, names: tuple[str, ...], output: str) -> str | None:
    """Return the bias that the layer of an output adds; None if it has none or several."""
    scheme = naming_scheme_of(trial)
    weights = [parameter for parameter in scheme.parameters_beside(output, names) if not scheme.is_gradient(parameter)]
    biases = [bias for weight in weights if (bias := scheme.bias_of(weight)) != weight and bias in names]
    return biases[0] if len(biases) == 1 else None


def _layer_of(output: str) -> str:
    """Return the name of the layer that has an output."""
    return re.sub(r"[_/](output_\d+|outputs(_\d+)?)$", "", output)


def _has_parts(_: Trial, names: tuple[str, ...], output: str) -> bool:
    """Return whether the layer of an output contains others."""
    layer = re.escape(_layer_of(output))
    within = re.compile(rf"(^|[_./]){layer}[_./](?!input|output)")
    return any(map(within.search, names))


class ActivationCollapse(TensorRule):
    """A layer has nearly the same output for every input.

    Checks outputs of layers at TRAIN steps (or steps without a mode); axis 0 is the batch. The variation of a layer is
    the difference between its outputs for different samples, relative to their size. The rule fires if it is below
    `threshold` at `patience` consecutive saved steps. The bias of the layer is subtracted first, because predictions of
    numbers far from 0 may vary by little of their size. A layer whose outputs are all 0 has the variation 0.

    As long as the predictions passed to the loss differ between samples, outputs that depend only on constants do not
    fire. These are outputs of layers whose inputs are exactly the same for each sample, such as the first state of a
    recurrent layer or learnt queries.

    If inputs of layers were saved too, the message names the place where the collapse begins. It may be a layer without
    weights whose input differs between samples, such as an activation with all units in their flat range, or a softmax
    over an axis with a single entry, whose values are all 1. Or it may lie between layers: the input of one is exactly
    the same for each sample, but is the output of no layer, as with a mean over the batch or attention over padding.
    Layers whose inputs differ are named before those that follow them.

    Some models overcome a collapse, as of small first weights. With `patience_running`, an issue is held: it is taken
    back if all outputs vary again and a loss has fallen to half of its level since.

    Parameters:
        tensor_regex: Regular expressions searched in the names of layer outputs, as a list or separated by commas.
            When not given: those of all layers, as the framework names them.
        threshold: Smallest variation; 0.001 when not given.
        patience: Number of consecutive saved steps below the threshold; 3 when not given.
        patience_running: Number of TRAIN steps, while the job runs, in which training may disprove an issue; 0, which
            waits for none, when not given.

    Source:
        The variance of activations as a sign of health of a network: Glorot and Bengio, Understanding the Difficulty of
        Training Deep Feedforward Neural Networks, AISTATS 2010.

    Example:
        >>> rule = create_rule("ActivationCollapse", trial, {"tensor_regex": "encoder.*_output"})
        >>> invoke_rule(rule)
    """

    spec_name = "ActivationCollapse"
    advice = (
        "Inspect the layers up to the first one named: look for weights of 0, dead units, saturated "
        "activations, or a bias much larger than the signal. Initialise to suit the activation, add "
        "normalisation, or lower the learning rate."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.LAYER_OUTPUT)
        self._streaks = StreakCounter()
        self._have_varied: set[str] = set()
        self._provisional = ProvisionalIssues(self.parameters["patience_running"])

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if outputs hardly differ between samples, once training has not disproved it."""
        return self._provisional.settle(view, super().evaluate(view))

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue that is held, if no more steps will follow."""
        return self._provisional.take(self.base_trial.loaded_all_steps)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the variation of a layer's output."""
        measured = view.statistic(name, variation) if is_training(view) else None
        if measured is None:
            return None
        limit: float = self.parameters["threshold"]
        if measured < limit:
            measured = self._without_bias(view, name, measured)
        length = self._streaks.observe(name, measured < limit)
        if not length:
            self._have_varied.add(name)
        fires = length >= self.parameters["patience"]
        since = "" if name in self._have_varied else SINCE_FIRST
        return Measurement(measured, fires=fires, threshold=limit, severity=-measured, text=since)

    def _without_bias(self, view: StepView, name: str, measured: float) -> float:
        """Return the variation of an output without the bias that its layer adds, or `measured` if it has none.

        The output of a module may be that of its last layer.
        """
        scheme, output = naming_scheme_of(view.trial), view.value(name)
        if output is None:
            return measured
        axis = -1 if scheme.has_channels_last(name) else 1
        for candidate in (name, *(other for other in view.selected(self.selection) if other != name)):
            bias_name = view.of_names(_bias_beside, candidate)
            bias = None if bias_name is None else value_before_update(view, bias_name)
            if bias is None or bias.ndim != 1 or output.shape[axis] != len(bias):
                continue
            value = view.value(candidate)
            if candidate == name or (value is not None and np.array_equal(value, output)):
                found = variation(to_float64(np.moveaxis(output, axis, -1)) - to_float64(bias))
                return measured if found is None else found
        return measured

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue, which names the place where outputs became equal."""
        fired = {name: reading for name, reading in measurements.items() if reading.fires}
        if any(self._varies(view, name) for name in view.selected(ANSWERS)):
            fired = {name: reading for name, reading in fired.items() if not self._has_constant_input(view, name)}
        where = self._where(view, fired) if fired else ""
        if not (where or all(reading.text for reading in fired.values())):
            where = f"; {VARIED}"
        located = {
            name: attrs.evolve(
                reading, text=where, severity=np.inf if self._begins_at(view, name, fired) else reading.severity
            )
            for name, reading in fired.items()
        }
        return super().issues_of(view, located)

    def _begins_at(self, view: StepView, name: str, collapsed: Collection[str]) -> bool:
        """Return whether inputs of a layer differ, and none of the collapsed layers lies within it."""
        given = naming_scheme_of(view.trial).input_of(name)
        if given == name or not self._varies(view, given):
            return False
        layer = _layer_of(name)
        is_whole = name in view.selected(MODEL_OUTPUTS) and len(collapsed) > 1
        return not (is_whole or any(other.startswith((f"{layer}.", f"{layer}/")) for other in collapsed))

    def _where(self, view: StepView, collapsed: Mapping[str, Measurement]) -> str:
        flat = sorted(name for name in collapsed if self._is_flat(view, name))
        since_first = [name for name in flat if collapsed[name].text]
        if not flat:
            others = (name for name in view.selected(LAYER_OUTPUTS) if name not in collapsed)
            flat = sorted(name for name in others if self._is_silent(view, name))
            since_first = flat if all(reading.text for reading in collapsed.values()) else []
        if since_first:
            return f"; {since_first[0]!r} {OF_ONE if self._is_one(view, since_first[0]) else WAS_FLAT}"
        if flat:
            return f"; {flat[0]!r} {IS_FLAT}"
        cut = self._cut(view, collapsed) if all(reading.text for reading in collapsed.values()) else None
        return f"; {cut!r} {CUT}" if cut else ""

    @staticmethod
    def _has_constant_input(view: StepView, name: str) -> bool:
        """Return whether the input of a layer is exactly the same for each sample."""
        given = naming_scheme_of(view.trial).input_of(name)
        value = view.value(given) if given != name and given in view.tensor_names else None
        return value is not None and value.ndim > 0 and not view.statistic(given, differs)

    def _is_silent(self, view: StepView, name: str) -> bool:
        """Return whether a layer without parameters passes on hardly anything of its input."""
        source = naming_scheme_of(view.trial).input_of(name)
        given = view.statistic(source, size) if source in view.tensor_names else None
        output = view.statistic(name, size)
        return given is not None and output is not None and output < SILENT * given and self._is_flat(view, name)

    def _is_flat(self, view: StepView, name: str) -> bool:
        """Return whether a layer without parameters has the same output for inputs that differ."""
        scheme = naming_scheme_of(view.trial)
        given = scheme.input_of(name)
        if given not in view.tensor_names or name in view.selected(DROPOUT) or ATTENTION.search(name):
            return False
        if view.of_names(_has_parts, name) or parameters_beside(view, name):
            return False
        return self._varies(view, given)

    @staticmethod
    def _is_one(view: StepView, name: str) -> bool:
        """Return whether all values of an output within the model are 1, and there is an axis with a single entry.

        A function of single elements, such as a sigmoid, gives 1 only for inputs that are larger.
        """
        given, value = (view.value(each) for each in (naming_scheme_of(view.trial).input_of(name), name))
        if given is None or value is None or name in view.selected(MODEL_OUTPUTS) or not np.any(to_float64(given) < 1):
            return False
        return 1 in value.shape[1:] and bool(np.all(np.abs(to_float64(value) - 1) < ROUNDING))

    def _varies(self, view: StepView, name: str) -> bool:
        measured = view.statistic(name, variation) if name in view.tensor_names else None
        return measured is not None and measured >= self.parameters["threshold"]

    def _cut(self, view: StepView, collapsed: Iterable[str]) -> str | None:
        """Return the layer input that is the same for each sample but no layer's output; None if there is none."""
        if not any(view.statistic(name, differs) for name in view.selected(MODEL_INPUTS)):
            return None
        for name in collapsed:
            if ATTENTION.search(name) and self._varies(view, naming_scheme_of(view.trial).input_of(name)):
                return name
        outputs = [value.reshape(-1) for name in collapsed if (value := view.value(name)) is not None]
        for name in view.selected(LAYER_INPUTS):
            variance = view.statistic(name, variation)
            if variance is None or not variance < ROUNDING:
                continue
            given = view.value(name)
            if given is not None and not any(np.array_equal(given.reshape(-1), output) for output in outputs):
                return name
        return None

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Outputs hardly depend on the input in {describe_tensors(names)}: the first varies between samples by "
            f"{first.value:.2g} of its size, less than {first.threshold:g}{first.text}."
        )
