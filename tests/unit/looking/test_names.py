"""Names of tensors, as people read them."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.looking.names import Labels, shared_path
from sagemaker_debug_ext.rules.reading.tensor_roles import KERAS, PYTORCH


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ([], ""),
        (["net.fc1.weight"], "net.fc1.weight"),
        (["net.fc1.weight", "net.fc1.weight"], "net.fc1.weight"),
        (["net.fc1.weight", "net.fc1.bias", "net.fc10.bias"], "net."),
        (["net.fc1.weight", "net.fc1.bias"], "net.fc1."),
        (["gradient/net_a", "gradient/net_b"], "gradient/net_"),
        (["net.fc", "net.fc.weight"], "net."),
        (["net.", "net.a"], "net."),
        (["a", "b"], ""),
    ],
)
def test_shared_path_when_names_begin_alike_then_up_to_the_last_separator_that_all_have(names, path):
    """No part of a name is cut in the middle; a single name stays whole."""
    assert shared_path(names) == path


OF_PYTORCH = Labels.of_groups(
    PYTORCH,
    ["Net_body.0.weight", "Net_body.0.bias", "Net_head.weight"],
    ["gradient/Net_body.0.weight"],
    ["body.0_output_0", "body.1_output_0", "body.1_output_1"],
)
OF_KERAS = Labels.of_groups(
    KERAS,
    ["dense/weights/dense/kernel:0", "dense_1/weights/dense_1/kernel:0"],
    ["gradients/dense/kernelGrad"],
    ["dense/outputs", "dense_1/outputs"],
)


@pytest.mark.parametrize(
    ("labels", "name", "words"),
    [
        (OF_PYTORCH, "Net_body.0.weight", "'body.0.weight'"),
        (OF_PYTORCH, "gradient/Net_body.0.weight", "the gradient of 'body.0.weight'"),
        (OF_PYTORCH, "body.1_output_0", "the output of layer '1'"),
        (OF_PYTORCH, "body.0_input_0", "the input of layer '0'"),
        (OF_PYTORCH, "body.1_output_1", "'body.1_output_1'"),
        (OF_PYTORCH, "CrossEntropyLoss_input_0", "'CrossEntropyLoss_input_0'"),
        (OF_PYTORCH, "SGD_gradients_kept_0", "the gradients that SGD keeps"),
        (OF_PYTORCH, "Adam_learning_rate_1", "the learning rate of Adam 2"),
        (OF_KERAS, "sample_weights", "the weights of the samples"),
        (OF_KERAS, "dense/weights/dense/kernel:0", "'dense/kernel'"),
        (OF_KERAS, "gradients/dense/kernelGrad", "the gradient of 'dense/kernel'"),
        (OF_KERAS, "dense/outputs", "the output of layer 'dense'"),
        (OF_KERAS, "loss", "'loss'"),
    ],
)
def test_labels_when_a_text_quotes_a_tensor_then_what_it_is_and_its_path_in_the_model(labels, name, words):
    """A parameter, its gradient and the sides of a layer have one label each; what is not known keeps its name."""
    assert labels.in_text(f"Look at '{name}', it isn't sound.") == f"Look at {words}, it isn't sound."
