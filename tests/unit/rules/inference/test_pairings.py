"""Which losses, activations and targets cannot work together."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.pairings import PAIRINGS, Output, output_of, problem_of_pairing
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord

RANDOM = np.random.default_rng(0)
CLASS_INDICES = RANDOM.integers(0, 3, (32, 1))
ONE_HOT = np.eye(3)[CLASS_INDICES[:, 0]]
YES_NO = RANDOM.integers(0, 2, (32, 1)).astype(np.float64)
MULTI_HOT = np.maximum(ONE_HOT, np.roll(ONE_HOT, 1, axis=0))
SIGNED = RANDOM.normal(size=(32, 1))
LARGE = RANDOM.uniform(3, 100, (32, 1))
SHARES = RANDOM.uniform(0, 1, (32, 1))

SOUND = [
    ("sparse_categorical_crossentropy", False, "softmax", 3, CLASS_INDICES),
    ("sparse_categorical_crossentropy", True, "linear", 3, CLASS_INDICES),
    ("sparse_categorical_crossentropy", False, "softmax", 3, MULTI_HOT),  # classes of three places
    ("CrossEntropyLoss", True, "linear", 3, MULTI_HOT.astype(int)),
    ("categorical_crossentropy", False, "softmax", 3, ONE_HOT),
    ("binary_crossentropy", False, "sigmoid", 1, YES_NO),
    ("binary_crossentropy", False, "softmax", 2, np.eye(2)[YES_NO[:, 0].astype(int)]),
    ("binary_crossentropy", True, "linear", 1, YES_NO),
    ("binary_crossentropy", False, "sigmoid", 3, ONE_HOT),
    ("binary_crossentropy", False, "sigmoid", 1, SHARES),
    ("binary_crossentropy", False, "sigmoid", 3, MULTI_HOT),
    ("BCEWithLogitsLoss", True, "linear", 3, MULTI_HOT),
    ("mean_squared_error", False, "linear", 1, LARGE),
    ("mean_squared_error", False, "relu", 1, LARGE),
    ("mean_squared_error", False, "sigmoid", 1, SHARES),
    ("mean_squared_error", False, "softmax", 3, ONE_HOT),
    ("mean_squared_error", False, "tanh", 1, SHARES),
    ("mean_absolute_error", False, "linear", 1, SIGNED),
    ("mean_squared_error", False, "linear", 1, YES_NO),
    ("categorical_crossentropy", False, None, 3, ONE_HOT),
    ("CrossEntropyLoss", True, "linear", 3, CLASS_INDICES),
    ("categorical_crossentropy", False, "softmax", 3, 0.9 * ONE_HOT + 0.1 / 3),
    ("CrossEntropyLoss", True, "log_softmax", 3, CLASS_INDICES),
    ("CrossEntropyLoss", True, None, 3, CLASS_INDICES),
    ("BCEWithLogitsLoss", True, "linear", 1, YES_NO),
    ("BCELoss", False, "sigmoid", 1, YES_NO),
    ("NLLLoss", False, "log_softmax", 3, CLASS_INDICES),
    ("NLLLoss", False, "log", 3, CLASS_INDICES),
    ("KLDivLoss", False, "log_softmax", 3, ONE_HOT),
    ("MSELoss", False, "linear", 1, LARGE),
    ("L1Loss", False, "sigmoid", 1, SHARES),
    ("SoftMarginLoss", False, "linear", 1, 2 * YES_NO - 1),
    ("CosineEmbeddingLoss", False, None, None, 2 * YES_NO - 1),
]
FAULTY = [
    ("SoftMarginLoss", False, "linear", 1, YES_NO, "1 and -1"),
    ("CosineEmbeddingLoss", False, None, None, YES_NO, "1 and -1"),
    ("mean_squared_error", False, "softmax", 1, SIGNED, "single unit is always 1"),
    ("binary_crossentropy", False, "softmax", 1, YES_NO, "single unit is always 1"),
    ("categorical_crossentropy", False, "sigmoid", 1, YES_NO, "always 0"),
    ("categorical_crossentropy", False, "softmax", 3, MULTI_HOT, "several classes"),
    ("categorical_crossentropy", True, "linear", 3, MULTI_HOT, "several classes"),
    ("CrossEntropyLoss", True, "linear", 3, MULTI_HOT, "several classes"),
    ("binary_crossentropy", False, "sigmoid", 1, SIGNED, "targets from 0 to 1"),
    ("binary_crossentropy", True, "linear", 1, LARGE, "targets from 0 to 1"),
    ("binary_crossentropy", False, "sigmoid", 1, CLASS_INDICES, "targets from 0 to 1"),
    ("categorical_crossentropy", False, "relu", 3, ONE_HOT, "needs probabilities"),
    ("sparse_categorical_crossentropy", False, "linear", 3, CLASS_INDICES, "needs probabilities"),
    ("binary_crossentropy", False, "tanh", 1, YES_NO, "needs probabilities"),
    ("sparse_categorical_crossentropy", True, "relu", 3, CLASS_INDICES, "cuts them"),
    ("sparse_categorical_crossentropy", False, "softmax", 3, CLASS_INDICES + 1, "no unit for"),
    ("sparse_categorical_crossentropy", True, "linear", 3, (CLASS_INDICES + 1).astype(float), "no unit for"),
    ("mean_squared_error", False, "sigmoid", 1, LARGE, "cannot reach"),
    ("mean_absolute_error", False, "tanh", 1, LARGE, "cannot reach"),
    ("mean_squared_error", False, "relu", 1, SIGNED, "cannot reach"),
    ("mean_squared_error", False, "linear", 3, ONE_HOT, "one-hot"),
    ("mean_squared_error", False, "softmax", 3, RANDOM.uniform(0, 1, (32, 3)), "add up to 1"),
    ("mean_absolute_percentage_error", False, "sigmoid", 1, LARGE, "cannot reach"),
    ("binary_crossentropy", False, "softmax", 3, ONE_HOT, "makes them compete"),
    ("categorical_crossentropy", False, "softmax", 3, RANDOM.normal(size=(32, 3)), "add up to 1 for each"),
    ("CrossEntropyLoss", True, "linear", 3, RANDOM.uniform(0, 1, (32, 3)), "add up to 1 for each"),
    ("binary_crossentropy", False, "softmax", 3, MULTI_HOT, "makes them compete"),
    ("categorical_crossentropy", False, "sigmoid", 3, ONE_HOT, "each unit alone"),
    ("sparse_categorical_crossentropy", False, "sigmoid", 3, CLASS_INDICES, "each unit alone"),
    ("CrossEntropyLoss", True, "softmax", 3, CLASS_INDICES, "already passed through one"),
    ("CrossEntropyLoss", True, "sigmoid", 3, CLASS_INDICES, "already passed through one"),
    ("BCEWithLogitsLoss", True, "sigmoid", 1, YES_NO, "already passed through one"),
    ("CrossEntropyLoss", True, "relu", 3, CLASS_INDICES, "cuts them"),
    ("CrossEntropyLoss", True, "linear", 1, np.zeros(32, int), "always 0"),
    ("NLLLoss", False, "softmax", 3, CLASS_INDICES, "needs logarithms"),
    ("NLLLoss", False, "linear", 3, CLASS_INDICES, "needs logarithms"),
    ("KLDivLoss", False, "softmax", 3, ONE_HOT, "needs logarithms"),
    ("BCEWithLogitsLoss", True, "linear", 1, CLASS_INDICES, "targets from 0 to 1"),
    ("MSELoss", False, "sigmoid", 1, LARGE, "cannot reach"),
    ("MSELoss", False, "softmax", 1, YES_NO, "single unit is always 1"),
]


@pytest.mark.parametrize(("loss", "from_logits", "activation", "units", "targets"), SOUND)
def test_pairing_when_it_can_work_then_has_no_problem(loss, from_logits, activation, units, targets):
    """Usual pairings, and unusual ones that train, are no faults."""
    assert problem_of_pairing(Output(loss, from_logits, activation, units, False, targets)) == ""


@pytest.mark.parametrize(("loss", "from_logits", "activation", "units", "targets", "text"), FAULTY)
def test_pairing_when_it_cannot_work_then_says_why(loss, from_logits, activation, units, targets, text):
    """Each class of faulty pairings is named at the first batch."""
    assert text in problem_of_pairing(Output(loss, from_logits, activation, units, False, targets))


def test_every_row_has_a_case_that_holds():
    """No row of the table is dead."""
    outputs = [Output(*case[:4], False, case[4]) for case in FAULTY]
    outputs.append(Output("categorical_crossentropy", False, "softmax", 3, True, ONE_HOT))
    outputs.append(Output("NLLLoss", False, "log_softmax", 3, False, CLASS_INDICES, log_softmax(0)))
    outputs.append(Output("BCELoss", False, "sigmoid", 1, False, YES_NO, inner="relu"))
    outputs.append(Output("mean_squared_error", False, "linear", 1, False, SHARES, np.ones((32, 20, 1))))
    assert all(any(row.holds(output) for output in outputs) for row in PAIRINGS)


@pytest.mark.parametrize(
    ("shape", "targets", "text"),
    [
        ((32, 1), SHARES, ""),
        ((32,), SHARES, ""),
        ((32, 20, 1), SHARES, "each target is broadcast"),
        ((32, 20, 1), np.ones(1), ""),
    ],
)
def test_pairing_when_there_are_more_answers_than_targets_then_says_so(shape, targets, text):
    """A sequence of answers for one target of each sample is a fault, and one number for all is not."""
    problem = problem_of_pairing(Output("mean_squared_error", False, "linear", 1, False, targets, np.ones(shape)))
    assert problem.partition(" to several")[0] == text


def log_softmax(axis):
    scores = RANDOM.normal(size=(32, 3))
    return scores - np.log(np.exp(scores).sum(axis=axis, keepdims=True))


@pytest.mark.parametrize(("axis", "text"), [(0, "over the samples"), (1, "")])
def test_pairing_when_softmax_is_over_samples_then_says_so(axis, text):
    """Scores that add up to one for each class over the batch are compared across samples."""
    output = Output("NLLLoss", False, "log_softmax", 3, False, CLASS_INDICES, log_softmax(axis))
    assert text in problem_of_pairing(output)
    assert bool(problem_of_pairing(output)) == bool(text)


@given(st.sampled_from(SOUND), st.floats(0.001, 1000))
def test_pairing_when_regression_without_activation_then_range_of_targets_does_not_matter(case, scale):
    """Quantities of any size suit a plain output."""
    _, _, _, units, targets = case
    scaled = targets * scale + 0.5
    assert problem_of_pairing(Output("mean_squared_error", False, "linear", units, False, scaled)) == ""


def layer(kind, activation=None, units=3):
    return LayerRecord(name=kind.lower(), type=kind, activation=activation, units=units)


TAILS = [
    ((layer("Dense", "softmax"),), "softmax", False),
    ((layer("Activation", "softmax"), layer("Dense", "linear")), "softmax", False),
    ((layer("Softmax", "softmax"), layer("Dropout"), layer("Dense", "linear")), "softmax", True),
    ((layer("Activation", "softmax"), layer("Dropout"), layer("Dense", "relu")), "softmax", False),
    ((layer("Reshape"), layer("Dense", "relu")), "relu", False),
    ((layer("Dense", "linear"),), "linear", False),
    ((layer("Activation", "linear"), layer("Dense", "linear")), "linear", False),
    ((layer("Lambda"), layer("Dense", "linear")), None, False),
    ((layer("BatchNormalization"),), None, False),
]


@pytest.mark.parametrize(("tail", "activation", "drops"), TAILS)
def test_output_when_in_a_record_then_has_its_last_activation(tail, activation, drops):
    """Layers that only reshape pass the activation on; a layer of the script's own makes it unknown."""
    loss = LossRecord(name="predictions", type="mean_squared_error", tail=tail)
    output = output_of(ProgramRecord(framework="Keras", losses=(loss,)), "predictions", SHARES)
    assert (output.activation, output.drops) == (activation, drops)


@pytest.mark.parametrize(
    ("tail", "inner"),
    [
        ((layer("Sigmoid", "sigmoid"), layer("Relu", "relu"), layer("Addmm", "linear")), "relu"),
        ((layer("Activation", "softmax"), layer("Dense", "relu")), "relu"),
        (
            (layer("Softmax", "softmax"), layer("Reshape"), layer("Softmax", "softmax"), layer("Mm", "linear")),
            "softmax",
        ),
        ((layer("Sigmoid", "sigmoid"), layer("Addmm", "linear")), None),
        ((layer("Softmax", "softmax"), layer("BatchNormalization"), layer("Dense", "relu")), None),
        ((layer("Softmax", "softmax"), layer("Tanh", "tanh"), layer("Addmm", "linear")), "tanh"),
    ],
)
def test_output_when_one_activation_gets_what_another_makes_then_knows_both(tail, inner):
    """Only one that cuts numbers off at 0 is a fault; a tanh keeps them within bounds on purpose."""
    loss = LossRecord(name="predictions", type="categorical_crossentropy", tail=tail)
    output = output_of(ProgramRecord(framework="Keras", losses=(loss,)), "predictions", ONE_HOT)
    assert output.inner == inner
    assert ("another activation cuts" in problem_of_pairing(output)) == (inner in ("relu", "softmax"))


@pytest.mark.parametrize(
    ("tail", "drops"),
    [
        ((layer("Dropout"), layer("Addmm", "linear")), True),
        ((layer("Softmax", "softmax"), layer("Dropout"), layer("Addmm", "linear")), True),
        ((layer("Dropout"), layer("Relu", "relu"), layer("Addmm", "linear")), False),
        ((layer("Addmm", "linear"),), False),
    ],
)
def test_output_when_operations_drop_what_the_loss_gets_then_says_so(tail, drops):
    """Dropout of the last layer's own output is a fault; that of an activation before a head is not the head's."""
    loss = LossRecord(name="MSELoss", type="MSELoss", tail=tail)
    assert output_of(ProgramRecord(framework="PyTorch", losses=(loss,)), "MSELoss", SHARES).drops == drops


@pytest.mark.parametrize(
    "losses",
    [
        (),
        (LossRecord(name="predictions", type="", tail=TAILS[0][0]),),
        (LossRecord(name="predictions_1", type="mean_squared_error", tail=TAILS[0][0]),),
    ],
)
def test_output_when_record_does_not_tell_then_is_none(losses):
    """A loss of the script's own, or of another output, is not evaluated."""
    assert output_of(ProgramRecord(framework="Keras", losses=losses), "predictions", SHARES) is None


def test_output_when_the_model_calls_its_layers_itself_then_has_no_activation():
    """The loss and its targets are known, and may not go together."""
    losses = (LossRecord(name="predictions", type="mse"),)
    output = output_of(ProgramRecord(framework="Keras", losses=losses), "predictions", SHARES)
    assert (output.loss, output.activation, output.units, output.drops) == ("mean_squared_error", None, None, False)


def test_pairing_when_the_loss_leaves_out_a_class_then_it_needs_no_unit():
    """As that of pixels at the edge of objects."""
    targets = np.where(np.arange(32) % 4, CLASS_INDICES[:, 0], 255)
    output = Output("sparse_categorical_crossentropy", False, "softmax", 3, False, targets, ignored=255)
    assert problem_of_pairing(output) == ""
    assert "no unit for" in problem_of_pairing(attrs.evolve(output, ignored=None))
