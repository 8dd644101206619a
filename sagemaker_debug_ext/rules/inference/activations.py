"""Infer the activation of a layer and its input from their values, where names do not show them.

Keras and MXNet put an activation into the layer before it: the layer's output is that of the activation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sagemaker_debug_ext.rules.inference.training import parameters_beside, value_before_update
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, ProgramRecord

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

SINCE_FIRST: Final = "since the first step"
"""Text of units that have never varied."""
ACTIVATION: Final = re.compile(r"re_?lu|activation|tanh|sigmoid", re.IGNORECASE)
ANSWERS: Final = Selection(roles=(Role.PREDICTION,))
LAYER_INPUTS: Final = Selection(roles=(Role.LAYER_INPUT,))
RECURRENT: Final = frozenset({"LSTM", "GRU", "SimpleRNN", "RNN", "RNNCell"})
"""Layers that answer step by step."""
UNBOUNDED: Final = frozenset({"relu", "elu", "selu", "gelu", "silu", "swish", "leaky_relu", "softplus", "linear"})
"""Activations whose answers may grow with each step of a sequence."""
OVER_STEPS: Final = "may let values grow with each step of a sequence"
"""Message part on recurrent layers whose activation has no bound."""
SIMILAR: Final = 20
"""Largest ratio of a feature's deviation to the median of those of all features."""
FIRST_INPUTS: Final = ("_input_0", "/inputs")
"""Ends of the names of the first input of a layer."""
OF_INPUT: Final = re.compile(r"input(?=(_\d+|s)$)")
SURE: Final = 0.9999
CLOSE: Final = 1e-3
"""Maximum difference between a product and the layer's output, relative to the largest output."""


def is_inferred(selection: Selection, role: Role, trial: Trial) -> bool:
    """Return whether tensors were selected for a role that their names do not prove."""
    scheme = naming_scheme_of(trial)
    return scheme.hides_kinds and any(scheme.patterns[role] in pattern.pattern for pattern in selection.patterns)


def growth_over_steps(program: ProgramRecord) -> str:
    """Return the message part on a recurrent layer whose activation has no bound; empty if there is none."""
    unbounded = (layer for layer in program.layers if layer.type in RECURRENT and layer.activation in UNBOUNDED)
    return next((f"{layer.activation!r} in {layer.name!r} {OVER_STEPS}" for layer in unbounded), "")


def outputs_of_softmax(trial: Trial, names: Sequence[str]) -> list[str]:
    """Return the names of outputs of softmax layers, as the program record knows them."""
    layers = (trial.program or NO_PROGRAM).layers
    found = {layer.name for layer in layers if layer.type == "Softmax" or layer.activation == "softmax"}
    ends = ("/outputs", "_output_0")
    return [name for name in names if name.endswith(ends) and name.removesuffix(ends[0]).removesuffix(ends[1]) in found]


def may_be_rectified(view: StepView, name: str) -> bool:
    """Return whether a layer's output looks like that of a ReLU: some values are 0, and none is negative."""
    output = view.value(name)
    if output is None or output.dtype.kind not in "fV" or not _has_activation(view, name):
        return False
    if output.any():
        return bool(np.min(output) >= 0)
    # a layer that starts with weights of 0 gives only 0 as well
    beside = parameters_beside(view, name)
    weights = [value_before_update(view, parameter) for parameter in beside if _is_matrix(view, parameter)]
    return any(weight is not None and weight.any() for weight in weights)


def infer_preactivation(view: StepView, name: str) -> tuple[str, Array] | None:
    """Return the likely activation of a layer, tanh or sigmoid, and its input; None if the output fits neither.

    The model's predictions are left out, because training makes them confident.
    """
    output = view.value(name)
    if output is None or output.dtype not in (np.float32, np.float64) or not _has_activation(view, name):
        return None
    values = to_float64(output)
    low, high = float(values.min()), float(values.max())
    is_rectified = low == 0 and high < SURE
    if not (low >= -1 and high <= 1) or is_rectified or _is_answer(view, output) or sums_to_one(values):
        return None
    with np.errstate(divide="ignore"):
        if low < 0:
            return "tanh", np.arctanh(values)
        return "sigmoid", np.log(values) - np.log1p(-values)


def sums_to_one(values: Array) -> bool:
    """Return whether values are probabilities along the last axis, like those of a softmax."""
    is_wide = values.ndim > 1 and values.shape[-1] > 1
    return bool(is_wide and np.min(values) >= 0 and np.allclose(values.sum(axis=-1), 1, atol=1e-3))


def is_plain(view: StepView, weight: str, given: str, output: str) -> bool:
    """Return whether the output of a fully connected layer is its input times its weight, without activation."""
    scheme = naming_scheme_of(view.trial)
    if not scheme.fuses_activations:
        return True
    kernel, inputs, outputs = value_before_update(view, weight), view.value(given), view.value(output)
    if kernel is None or inputs is None or outputs is None:
        return False
    if not scheme.has_units_last(weight):
        kernel = kernel.T
    if inputs.size % len(kernel) or inputs.size // len(kernel) * kernel.shape[1] != outputs.size:
        return False
    bias_name = scheme.bias_of(weight)
    bias = value_before_update(view, bias_name) if bias_name in view.tensor_names else None
    rows, wanted = inputs.reshape(-1, len(kernel)), to_float64(outputs).reshape(-1, kernel.shape[1])
    wide, offset = to_float64(kernel), 0 if bias is None else bias
    limit = CLOSE * float(np.abs(wanted).max())

    def distance(some: slice) -> float:
        return float(np.abs(to_float64(rows[some]) @ wide + offset - wanted[some]).max())

    # the first row tells nearly all layers with an activation, and the margin is far above rounding
    return distance(slice(1)) <= 2 * limit and distance(slice(None)) <= limit


def inputs_of_matrices(view: StepView) -> list[str]:
    """Return the names of the saved inputs of layers with a weight matrix."""
    layers = view.selected(LAYER_INPUTS)
    return [layer for layer in layers if any(_is_matrix(view, mine) for mine in _parameters_of(view, layer))]


def reaches_layer_unchanged(view: StepView, name: str) -> bool:
    """Return whether an input of the model reaches a layer with a weight matrix unchanged, as far as was saved.

    An unscaled input is no fault if another layer, such as a normalization, comes first.
    """
    given = view.value(name)
    if given is None:
        return True
    layers = [layer for layer in view.selected(LAYER_INPUTS) if layer != name]
    of_matrices = [layer for layer in inputs_of_matrices(view) if layer != name]
    if not of_matrices:
        return given.dtype.kind in "fV"  # models usually scale pictures of bytes themselves
    if any(_holds(view.value(layer), given) for layer in of_matrices):
        return True
    if naming_scheme_of(view.trial).hides_kinds:
        return False
    others = [layer for layer in layers if layer not in of_matrices and _parameters_of(view, layer)]
    is_normalised = any(_is_equal(view.value(layer), given) for layer in others)
    is_computed = any((value := view.value(layer)) is not None and value.size == given.size for layer in of_matrices)
    return not (is_normalised or is_computed)


def joins_what_a_layer_gets(view: StepView, name: str) -> bool:
    """Return whether a layer with a weight matrix gets an input of the model, alone or joined with others."""
    given = view.value(name)
    taken = (view.value(layer) for layer in inputs_of_matrices(view) if layer != name)
    return given is not None and any(_holds(value, given) or _is_part(given, value) for value in taken)


def is_normalised_next(view: StepView, name: str) -> bool:
    """Return whether the only layers that get an input of the model pass their outputs to batch normalisations.

    The scale and the offset of the input then cancel out: each unit of such a layer is scaled and centred anew, and the
    gradients of its weights are those for inputs of any other scale. Of a table, this holds only if its features have
    similar scales.
    """
    given = view.value(name)
    norms = [layer.name for layer in view.program.layers if "BatchNorm" in layer.type]
    if given is None or not norms or (given.ndim == 2 and _scales_differ(given)):
        return False
    of_matrices = [layer for layer in inputs_of_matrices(view) if layer != name]
    firsts = [layer for layer in of_matrices if _holds(view.value(layer), given)]
    normalised = [value for norm in norms for end in FIRST_INPUTS if (value := view.value(norm + end)) is not None]

    def is_normalised(layer: str) -> bool:
        output = OF_INPUT.sub("output", layer)
        value = view.value(output)
        weights = [mine for mine in _parameters_of(view, layer) if _is_matrix(view, mine)]
        is_linear = not naming_scheme_of(view.trial).fuses_activations or (
            len(weights) == 1 and is_plain(view, weights[0], layer, output)
        )
        return value is not None and is_linear and any(_is_equal(other, value) for other in normalised)

    passes_on = any(_is_part(given, view.value(layer)) for layer in of_matrices if layer not in firsts)
    return bool(firsts) and not passes_on and all(map(is_normalised, firsts))


def _scales_differ(table: Array) -> bool:
    """Return whether a column varies far more than others, so that a sum of all tells of hardly any other."""
    deviations = to_float64(table).std(axis=0)
    return bool(deviations.max(initial=0) > SIMILAR * np.median(deviations))


def _is_part(given: Array, joined: Array | None) -> bool:
    """Return whether the first feature or channel of an input is among those of another, as where both are joined."""
    if joined is None or joined.ndim != given.ndim or given.ndim < 2 or joined.size <= given.size:
        return False
    return any(
        np.array_equal(np.take(joined, place, axis), np.take(given, 0, axis))
        for axis in (1, -1)
        for place in range(joined.shape[axis])
    )


def _parameters_of(view: StepView, layer_input: str) -> list[str]:
    """Return the parameters of the layer that has an input, not those of layers within it."""
    beside = parameters_beside(view, layer_input)
    if beside or naming_scheme_of(view.trial).hides_kinds:
        return beside
    layer = re.escape(re.sub(r"_input_\d+$", "", layer_input))
    own = re.compile(rf"(^|[_.]){layer}[._][a-z_]*weight[^.]*$")  # of recurrent layers, and of attention
    return [tensor for tensor in view.tensor_names if not tensor.startswith("gradient") and own.search(tensor)]


def _holds(value: Array | None, given: Array) -> bool:
    """Return whether the input of a layer has the same elements, possibly with permuted axes."""
    if value is None or value.size != given.size:
        return False
    return _is_equal(value, given) or bool(np.array_equal(np.sort(value, axis=None), np.sort(given, axis=None)))


def _is_equal(one: Array | None, other: Array) -> bool:
    return one is not None and one.size == other.size and bool(np.array_equal(one.reshape(-1), other.reshape(-1)))


def _has_activation(view: StepView, name: str) -> bool:
    """Return whether a layer may have an activation, and does not only pass values on, as flattening does."""
    beside = parameters_beside(view, name)
    return ACTIVATION.search(name) is not None or any(_is_matrix(view, parameter) for parameter in beside)


def _is_matrix(view: StepView, parameter: str) -> bool:
    value = view.value(parameter)
    return value is not None and value.ndim > 1


def _is_answer(view: StepView, output: Array) -> bool:
    return any(_is_equal(view.value(name), output) for name in view.selected(ANSWERS))
