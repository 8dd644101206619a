"""Activations of layers are recognised by values, where names of a framework do not have them."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.activations import (
    infer_preactivation,
    is_plain,
    may_be_rectified,
    reaches_layer_unchanged,
)
from support.rule_trials import TRAIN

RNG = np.random.default_rng(0)


X, KERNEL = RNG.normal(size=(8, 4)), RNG.normal(size=(4, 5))


def layer_view(keras_views, output, kernel=KERNEL, **others):
    kernels = {"a/weights/a/kernel:0": kernel}
    steps = {(TRAIN, 0): kernels, (TRAIN, 1): {"a/inputs": X, "a/outputs": output, **kernels, **others}}
    return keras_views(steps).at(1)


@pytest.mark.parametrize(
    ("output", "kernel", "is_rectified"),
    [
        (np.maximum(X @ KERNEL, 0), KERNEL, True),
        (X @ KERNEL, KERNEL, False),
        (np.zeros((8, 5)), KERNEL, True),
        (np.zeros((8, 5)), np.zeros((4, 5)), False),
    ],
    ids=["ReLU", "plain", "dead", "zero"],
)
def test_outputs_of_relu_have_no_negative_numbers(keras_views, output, kernel, is_rectified):
    """Outputs without negative numbers are of a ReLU, unless they are 0 because the weights are."""
    assert may_be_rectified(layer_view(keras_views, output, kernel), "a/outputs") == is_rectified


def test_layers_without_a_matrix_of_weights_have_no_activation(keras_views):
    """A layer without a matrix of weights has no activation, unless its name has one."""
    tensors = {"flatten/outputs": np.eye(3), "re_lu/outputs": np.eye(3), "input/outputs": np.tanh(X)}
    view = keras_views({(TRAIN, 0): tensors}).at(0)
    assert [may_be_rectified(view, name) for name in ("flatten/outputs", "re_lu/outputs")] == [False, True]
    assert infer_preactivation(view, "input/outputs") is None


@pytest.mark.parametrize(
    ("function", "kind"),
    [(np.tanh, "tanh"), (lambda x: 1 / (1 + np.exp(-x)), "sigmoid"), (lambda x: x, None), (np.abs, None)],
    ids=["tanh", "sigmoid", "plain", "absolute"],
)
def test_inputs_of_tanh_and_sigmoid_are_computed_from_outputs(keras_views, function, kind):
    """Inputs of tanh and sigmoid are computed from their outputs, up to rounding."""
    found = infer_preactivation(layer_view(keras_views, function(X @ KERNEL)), "a/outputs")
    if kind is None:
        assert found is None
    else:
        assert found[0] == kind
        np.testing.assert_allclose(found[1], X @ KERNEL, rtol=1e-6)


def test_probabilities_and_predictions_are_not_saturated_activations(keras_views):
    """Probabilities of classes, and predictions, are not evaluated as activations, because they may be certain."""
    shares, sure = np.eye(5)[np.arange(8) % 5], (X @ KERNEL > 0).astype(float)
    assert infer_preactivation(layer_view(keras_views, shares), "a/outputs") is None
    assert infer_preactivation(layer_view(keras_views, sure, predictions=sure), "a/outputs") is None
    assert infer_preactivation(layer_view(keras_views, sure), "a/outputs") is not None


@pytest.mark.parametrize(("function", "expected"), [(lambda x: x, True), (np.tanh, False)], ids=["plain", "tanh"])
def test_a_layer_is_plain_if_it_only_multiplies(keras_views, gluon_views, function, expected):
    """A layer without activation is recognised by the weights that it used."""
    output = function(X @ KERNEL)
    assert is_plain(layer_view(keras_views, output), "a/weights/a/kernel:0", "a/inputs", "a/outputs") == expected
    weights = {"dense0_weight": KERNEL.T, "dense0_bias": np.ones(5)}
    layer = {"dense0_input_0": X, "dense0_output_0": function(X @ KERNEL + 1), **weights}
    view = gluon_views({(TRAIN, 0): weights, (TRAIN, 1): layer}).at(1)
    assert is_plain(view, "dense0_weight", "dense0_input_0", "dense0_output_0") == expected


def test_inputs_that_a_layer_prepares_are_not_taken_unchanged(keras_views):
    """Inputs that reach the first layer with weights as they are are taken unchanged."""
    assert reaches_layer_unchanged(layer_view(keras_views, X @ KERNEL, inputs=X), "inputs")
    assert not reaches_layer_unchanged(layer_view(keras_views, X @ KERNEL, inputs=200 * X), "inputs")
    assert reaches_layer_unchanged(keras_views({(TRAIN, 0): {"inputs": 200 * X}}).at(0), "inputs")
