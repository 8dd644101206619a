"""What names mean to rules: one table of names and roles for each framework."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, explain
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.tensor_roles import (
    GLUON,
    KERAS,
    NOTHING,
    PYTORCH,
    SCHEMES,
    LossTensorNames,
    Role,
    naming_scheme_of,
    pattern_of,
)
from sagemaker_debug_ext.rules.recommended import recommended_parameters
from sagemaker_debug_ext.testing.trials import PATTERNS, SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN
OF_KERAS = {"losses": ["loss"], "weights": ["/weights/"], "layers": [], "optimizer_variables": []}
OF_GLUON = {**PATTERNS, "losses": [r"[Ll]oss\d*_(?!input).*output"]}

NAMES = {
    PYTORCH: {
        Role.MODEL_INPUT: ["Sequential_input_0"],
        Role.RELU_OUTPUT: ["relu1_output_0"],
        Role.SATURATING_INPUT: ["tanh_input_0"],
        Role.DROPOUT_OUTPUT: ["drop_output_0"],
        Role.NORM_OUTPUT: ["bn1_output_0"],
        Role.PREDICTION: ["CrossEntropyLoss_input_0", "MSELoss_input_0"],
        Role.CLASS_LABEL: ["CrossEntropyLoss_input_1"],
        Role.REGRESSION_TARGET: ["MSELoss_input_1"],
        Role.ALL_LABELS: [],
    },
    GLUON: {
        Role.MODEL_INPUT: ["hybridsequential0_input_0"],
        Role.RELU_OUTPUT: ["conv0_relu_output_0"],
        Role.SATURATING_INPUT: ["tanh0_input_0"],
        Role.DROPOUT_OUTPUT: ["dropout0_output_0"],
        Role.NORM_OUTPUT: ["batchnorm0_output_0"],
        Role.PREDICTION: ["softmaxcrossentropyloss0_input_0", "l2loss0_input_0"],
        Role.CLASS_LABEL: ["softmaxcrossentropyloss0_input_1"],
        Role.REGRESSION_TARGET: ["l2loss0_input_1"],
        Role.ALL_LABELS: [],
    },
    KERAS: {
        Role.MODEL_INPUT: ["inputs", "inputs_1"],
        Role.LAYER_OUTPUT: ["hid/outputs", "dropout_1/outputs", "a/batch_normalization_2/outputs", "lstm/outputs_0"],
        Role.DROPOUT_OUTPUT: ["dropout_1/outputs"],
        Role.NORM_OUTPUT: ["a/batch_normalization_2/outputs"],
        Role.PREDICTION: ["predictions"],
        Role.PREDICTION_OR_TARGET: ["predictions", "labels"],
        Role.CLASS_LABEL: ["labels"],
        Role.ALL_LABELS: [],
    },
}  # fmt: skip
OTHERS = {
    PYTORCH: ["fc.weight", "Sequential_fc.weight", "gradient/Sequential_fc.weight", "CrossEntropyLoss_output_0"],
    GLUON: ["dense0_weight", "gradient/dense0_weight", "dense0_bias", "batchnorm0_gamma"],
    KERAS: ["loss", "val_loss", "accuracy", "batch", "hid/weights/hid/kernel:0", "gradients/hid/kernelGrad"],
}


@pytest.fixture
def open_trial(make_trial):
    """Return a function that opens a trial of one step of a framework."""

    def make(scheme, *names):
        collections = {KERAS: OF_KERAS, GLUON: OF_GLUON}.get(scheme)
        return make_trial({(TRAIN, 0): dict.fromkeys(names, np.ones((2, 2)))}, collections=collections)

    return make


@pytest.mark.parametrize(("scheme", "role"), [(scheme, role) for scheme in NAMES for role in NAMES[scheme]])
def test_names_of_a_role_are_found_and_no_others(open_trial, scheme, role):
    """Among all names of the framework's hook."""
    names = list(dict.fromkeys([*itertools.chain(*NAMES[scheme].values()), *OTHERS[scheme]]))
    trial = open_trial(scheme, *names)
    assert naming_scheme_of(trial) is scheme
    assert sorted(Selection(roles=(role,)).among(names, trial)) == sorted(NAMES[scheme][role])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_role_has_a_pattern(scheme):
    """That compiles."""
    assert set(scheme.patterns) == set(Role)
    assert all(re.compile(pattern) for pattern in scheme.patterns.values())


@pytest.mark.parametrize(
    ("scheme", "parameter", "gradient"),
    [
        (PYTORCH, "Sequential_0.weight", "gradient/Sequential_0.weight"),
        (GLUON, "dense0_weight", "gradient/dense0_weight"),
        (KERAS, "hid/weights/hid/kernel:0", "gradients/hid/kernelGrad"),
        (KERAS, "hid/weights/model/hid/kernel:0", "gradients/model/hid/kernelGrad"),
        (KERAS, "weights/hid/kernel:0", "gradients/hid/kernelGrad"),
        (KERAS, "hid/weights/hid/kernel:0", "gradients/hid/kernel:0Grad"),
    ],
)
def test_a_parameter_has_its_gradient(scheme, parameter, gradient):
    """And no other one."""
    assert scheme.gradient_of(parameter, {gradient, "gradient/other", "gradients/otherGrad"}) == gradient
    assert scheme.gradient_of(parameter, {"gradient/other", "gradients/otherGrad"}) is None
    assert scheme.is_gradient(gradient)
    assert not scheme.is_gradient(parameter)


@pytest.mark.parametrize(
    ("scheme", "weight", "inputs", "outputs", "bias"),
    [
        (PYTORCH, "Net_fc.weight", "fc_input_0", "fc_output_0", "Net_fc.bias"),
        (PYTORCH, "Net_1_fc_a.weight", "Net_1.fc_a_input_0", "Net_1.fc_a_output_0", "Net_1_fc_a.bias"),
        (GLUON, "net0_dense0_weight", "net0_dense0_input_0", "net0_dense0_output_0", "net0_dense0_bias"),
        (KERAS, "a/hid/weights/hid/kernel:0", "a/hid/inputs", "a/hid/outputs", "a/hid/weights/hid/bias:0"),
        (KERAS, "weights/hid/kernel:0", "hid/inputs", "hid/outputs", "weights/hid/bias:0"),
    ],
)
def test_a_weight_has_a_layer_and_a_bias(scheme, weight, inputs, outputs, bias):
    """By their names."""
    assert (inputs, outputs) in scheme.layers_of(weight)
    assert scheme.input_of(outputs) == inputs
    assert scheme.bias_of(weight) == bias
    assert scheme.parameters_beside(outputs, [weight, "other", "other/weights/other/kernel:0"]) == [weight]


def test_layers_of_two_models_have_their_own_parameters():
    """The later model's layers have its name in front of theirs, and the bare name belongs to the earlier one."""
    names = ["Gen_0.weight", "Gen_0.bias", "0_output_0", "Dis_0.weight", "Dis_0.bias", "Dis.0_output_0"]
    assert PYTORCH.parameters_beside("0_output_0", names) == ["Gen_0.weight"]
    assert PYTORCH.parameters_beside("Dis.0_output_0", names) == ["Dis_0.weight"]


@pytest.mark.parametrize(
    ("scheme", "output", "offset"),
    [
        (PYTORCH, "bn1_output_0", "Net_bn1.bias"),
        (PYTORCH, "Net_1.block.bn1_output_0", "Net_1_block.bn1.bias"),
        (GLUON, "batchnorm0_output_0", "batchnorm0_beta"),
        (KERAS, "batch_norm/outputs", "batch_norm/weights/batch_norm/beta:0"),
    ],
)
def test_a_normalisation_has_an_offset(scheme, output, offset):
    """Which is not its gradient."""
    others = ["gradient/Net_bn1.bias", "batchnorm1_beta", "batch_norm/weights/batch_norm/gamma:0"]
    assert scheme.offset_of(output, [*others, offset]) == offset
    assert scheme.offset_of(output, others) is None


@pytest.mark.parametrize(
    ("scheme", "names"),
    [
        (PYTORCH, LossTensorNames("L1Loss_output_0", "L1Loss_input_0", "L1Loss_input_1")),
        (GLUON, LossTensorNames("l1loss0_output_0", "l1loss0_input_0", "l1loss0_input_1")),
        (KERAS, LossTensorNames("loss", "predictions", "labels")),
    ],
)
def test_a_loss_has_answers_and_targets(scheme, names):
    """If both were saved."""
    assert list(scheme.answers(sorted(names))) == [names]
    assert list(scheme.answers(sorted(names)[:2])) == []


def test_of_several_outputs_in_keras_none_has_the_loss_for_itself():
    """Which is that of all together."""
    names = ("labels_0", "labels_1", "loss", "predictions_0", "predictions_1")
    assert [found.loss for found in KERAS.answers(names)] == ["predictions_0", "predictions_1"]


@pytest.mark.parametrize(
    ("scheme", "answers", "kind"),
    [
        (PYTORCH, "BCEWithLogitsLoss_input_0", "BCEWithLogits"),
        (PYTORCH, "SmoothL1Loss_input_0", "SmoothL1"),
        (PYTORCH, "KLDivLoss_input_0", None),
        (GLUON, "softmaxcrossentropyloss0_input_0", "CrossEntropy"),
        (GLUON, "net0_l2loss1_input_0", "MSE"),
        (GLUON, "ctcloss0_input_0", None),
        (KERAS, "predictions", None),
    ],
)
def test_names_of_losses_tell_their_kind(scheme, answers, kind):
    """In PyTorch's words."""
    assert scheme.kind_of_loss(answers) == kind


@pytest.mark.parametrize(
    ("name", "is_offset", "has_units_last", "is_updated"),
    [
        ("bn/weights/bn/beta:0", True, False, True),
        ("bn/weights/bn/gamma:0", False, False, True),
        ("lstm/weights/lstm/lstm_cell/recurrent_kernel:0", False, True, True),
        ("embedding/weights/embedding/embeddings:0", False, False, True),
        ("weights/hid/kernel:0", False, True, False),
    ],
)
def test_parameters_of_keras_are_told_apart(name, is_offset, has_units_last, is_updated):
    """By the last parts of their paths; those of a tape are saved before the update."""
    assert KERAS.is_offset(name) == is_offset
    assert KERAS.has_units_last(name) == has_units_last
    assert KERAS.is_updated(name) == is_updated


def test_while_nothing_tells_the_framework_all_names_count(tmp_path):
    """As before the hook of a running job has written its collections."""
    SmallTrial(tmp_path, collections={})
    trial = create_trial(str(tmp_path))
    assert naming_scheme_of(trial) is PYTORCH
    pattern = pattern_of(Role.RELU_OUTPUT, trial)
    assert all(re.search(pattern, name) for name in ("relu1_output_0", "hid/outputs"))
    assert re.search(pattern, "relu1_input_0") is None


def test_parameters_of_recommended_rules_suit_the_framework(open_trial):
    """A role is no pattern."""
    for scheme in SCHEMES:
        parameters = recommended_parameters(open_trial(scheme, "x"))
        assert parameters["DeadRelu"]["tensor_regex"] == scheme.patterns[Role.RELU_OUTPUT]
        assert not any(isinstance(value, Role) for arguments in parameters.values() for value in arguments.values())


def test_what_a_hook_never_saves_is_told(open_trial):
    """Instead of a pattern that matches nothing."""
    trial = open_trial(KERAS, "x")
    (_, need, *_) = explain(create_rule("LabelMix", trial)).needs
    assert need.problem == f"the hook of Keras saves no {Role.ALL_LABELS.value}"
    assert NOTHING not in str(explain(create_rule("LabelMix", trial)))
    assert "inputs of the model" in str(explain(create_rule("InputScale", trial)))


def test_patterns_that_are_given_come_before_roles():
    """And selections can be united."""
    chosen, usual = chosen_or(["x"], Role.MODEL_INPUT), chosen_or(None, Role.MODEL_INPUT, Role.PREDICTION)
    assert (chosen.roles, bool(usual), usual.roles) == ((), True, (Role.MODEL_INPUT, Role.PREDICTION))
    both = chosen.united_with(usual)
    assert [pattern.pattern for pattern in both.patterns] == ["x"]
    assert both.roles == usual.roles


@pytest.mark.parametrize("name", ["PoissonNLLLoss", "GaussianNLLLoss"])
def test_likelihoods_of_numbers_have_no_classes(name):
    """As the one of classes has."""
    for role, place in ((Role.CLASS_SCORES, 0), (Role.CLASS_LABEL, 1), (Role.LOSS_CLASS_LABEL, 1)):
        assert re.search(PYTORCH.patterns[role], f"NLLLoss_input_{place}")
        assert not re.search(PYTORCH.patterns[role], f"{name}_input_{place}")
    assert PYTORCH.kind_of_loss("NLLLoss_input_0") == "NLL"
    assert PYTORCH.kind_of_loss(f"{name}_input_0") is None
