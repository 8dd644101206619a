"""What the recommended rules find in faulty jobs of Keras, and that sound ones leave them silent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.rules.causes import likely_causes  # noqa: E402

pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="layers are of TensorFlow")

SAVED = ["weights", "biases", "gradients", "layers", "inputs", "outputs"]
NUM_TRAINING = 512
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(768, 12)).astype("float32")
SCORES = INPUTS @ RANDOM.normal(size=(12, 3)).astype("float32")
CLASSES = SCORES.argmax(axis=1)
NUMBERS = (SCORES[:, 0] / 3).astype("float32")

Adam, SGD = keras.optimizers.Adam, keras.optimizers.SGD
Constant, Normal = keras.initializers.Constant, keras.initializers.RandomNormal
Dense = keras.layers.Dense


class Job(NamedTuple):
    """A job: how its layers, its optimizer and its data are made."""

    layers: Any
    optimizer: Any = lambda: SGD(0.1)
    loss: Any = "sparse_categorical_crossentropy"
    inputs: Any = lambda: INPUTS
    targets: Any = lambda: CLASSES
    shuffle: bool = True


def dense(activation="relu", depth=2, initialiser="glorot_uniform", bias="zeros", last="softmax", width=3):
    """Return a function that makes fully connected layers."""

    def make():
        hidden = {"activation": activation, "kernel_initializer": initialiser, "bias_initializer": bias}
        return [*(Dense(24, **hidden) for _ in range(depth)), Dense(width, activation=last)]

    return make


def normalised():
    return [Dense(24, use_bias=False), keras.layers.BatchNormalization(), keras.layers.ReLU(), Dense(3, "softmax")]


def convolutional():
    layers = keras.layers
    first = [layers.Reshape((4, 3, 1)), layers.Conv2D(8, 2, padding="same", activation="relu")]
    return [*first, layers.BatchNormalization(), layers.MaxPooling2D(2), layers.Flatten(), Dense(3, "softmax")]


def recurrent():
    return [keras.layers.Reshape((4, 3)), keras.layers.LSTM(16), Dense(3, "softmax")]


def dropping(share):
    return lambda: [Dense(24, "relu"), keras.layers.Dropout(share), Dense(3, "softmax")]


class Cut(keras.layers.Layer):
    """Lets no gradient through."""

    def call(self, inputs):
        return tf.stop_gradient(inputs)


class Logarithm(keras.layers.Layer):
    """Is not finite where a ReLU has given 0."""

    def call(self, inputs):
        return tf.math.log(inputs)


class Hiding(keras.layers.Layer):
    """Keeps variables of TensorFlow in a list, where Keras does not look for them."""

    def build(self, input_shape):
        self.kernels = [tf.Variable(tf.random.normal((input_shape[-1], 24), seed=1), name="kernel")]
        self.built = True

    def call(self, inputs):
        return tf.nn.relu(inputs @ self.kernels[0])


def calling():
    """Return layers of which the first calls others: Keras knows nothing of what its function uses."""
    inner = Dense(24, "relu")
    inner.build((None, INPUTS.shape[1]))
    return [keras.layers.Lambda(lambda inputs: 0.5 * inner(inputs), output_shape=(24,)), Dense(3, "softmax")]


class AlwaysDropping(keras.layers.Dropout):
    """Drops in evaluation as well."""

    def call(self, inputs, training=None):
        return super().call(inputs, training=True)


def sorted_by_class(values):
    order = np.argsort(CLASSES[:NUM_TRAINING], kind="stable")
    return np.concatenate([values[:NUM_TRAINING][order], values[NUM_TRAINING:]])


def with_gap():
    inputs = INPUTS.copy()
    inputs[300, 2] = np.nan
    return inputs


LOGITS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
SOUND = {
    "dense": Job(dense()),
    "tanh": Job(dense("tanh"), lambda: Adam(1e-2)),
    "scores": Job(dense(last=None), loss=LOGITS),
    "vectors of classes": Job(dense(), loss="categorical_crossentropy", targets=lambda: np.eye(3)[CLASSES]),
    "yes or no": Job(
        dense(last="sigmoid", width=1), lambda: Adam(1e-2), "binary_crossentropy", targets=lambda: NUMBERS > 0
    ),
    "numbers": Job(dense(last=None, width=1), lambda: Adam(1e-2), "mse", targets=lambda: NUMBERS),
    "whole numbers": Job(
        dense(last=None, width=1), lambda: Adam(1e-2), "mse", targets=lambda: np.round(6 * NUMBERS).astype("int64")
    ),
    "normalised": Job(normalised, lambda: Adam(1e-2)),
    "convolutional": Job(convolutional, lambda: Adam(1e-2)),
    "recurrent": Job(recurrent, lambda: Adam(2e-2)),
    "dropping": Job(dropping(0.3)),
    "scaled by the model": Job(
        lambda: [keras.layers.Rescaling(1 / 200), *dense()()], lambda: Adam(1e-2), inputs=lambda: 200 * INPUTS
    ),
}
FAULTS = {
    "dead ReLU": (Job(dense(bias=Constant(-8.0))), "DeadRelu", "dead units"),
    "too high rate": (Job(dense(), lambda: SGD(60.0)), "LearningRateTooHigh", "learning rate too high"),
    "too high rate of Adam": (Job(dense(), lambda: Adam(3.0)), "LossDivergence", "learning rate too high"),
    "too low rate": (Job(dense(), lambda: SGD(1e-6)), "LearningRateTooLow", "learning rate too low"),
    "exploding": (Job(dense(initialiser=Normal(stddev=4.0))), "InitialLoss", "initialisation"),
    "not trained": (Job(lambda: [Dense(24, "relu"), Cut(), *dense()()]), "FrozenParameters", "parameters not trained"),
    "vanishing": (
        Job(dense("sigmoid", depth=7, initialiser=Normal(stddev=0.02))), "ActivationCollapse", "initialisation"
    ),
    "saturated tanh": (
        Job(dense("tanh", initialiser=Normal(stddev=6.0)), lambda: SGD(0.01)), "SaturatedActivation", "initialisation"
    ),
    "saturated sigmoid": (
        Job(dense("sigmoid", initialiser=Normal(stddev=9.0)), lambda: SGD(0.01)), "SaturatedActivation",
        "initialisation",
    ),
    "gap in the inputs": (Job(dense(), inputs=with_gap), "NonFiniteOrigin", "not finite"),
    "logarithm of 0": (Job(lambda: [Dense(24, "relu"), Logarithm(), Dense(3, "softmax")]), "LossSpike", "not finite"),
    "sorted": (
        Job(
            dense(), inputs=lambda: sorted_by_class(INPUTS), targets=lambda: sorted_by_class(CLASSES), shuffle=False
        ),
        "LabelMix", "sampling",
    ),
    "equal weights": (Job(dense(initialiser=Constant(0.1))), "UnbrokenSymmetry", "initialisation"),
    "not scaled": (Job(dense(), lambda: Adam(1e-2), inputs=lambda: 300 * INPUTS), "InputScale", "inputs"),
    "wrong labels": (Job(dense(), targets=lambda: RANDOM.integers(0, 3, 768)), "NoSkill", "labels"),
    "no activation": (Job(dense(None, depth=3)), "MissingActivation", "architecture"),
    "too small a range": (
        Job(dense(last="sigmoid", width=1), lambda: Adam(1e-2), "mse", targets=lambda: 3 * NUMBERS),
        "LossInputMismatch", "loss or output",
    ),
    "swapped arguments": (
        Job(
            dense(last="sigmoid", width=1), lambda: Adam(1e-2), lambda y, p: keras.losses.binary_crossentropy(p, y),
            targets=lambda: np.float32(NUMBERS > 0)[:, None],
        ),
        "LossInputMismatch", "loss or output",
    ),
    "swapped arguments, classes": (
        Job(
            dense(), lambda: Adam(1e-2), lambda y, p: keras.losses.categorical_crossentropy(p, y),
            targets=lambda: np.eye(3, dtype="float32")[CLASSES],
        ),
        "LossInputMismatch", "loss or output",
    ),
    "dropping nearly all": (Job(dropping(0.95)), "OverRegularisation", "regularisation"),
    "dropping in evaluation": (
        Job(lambda: [Dense(24, "relu"), AlwaysDropping(0.4, name="dropout"), Dense(3, "softmax")]), "TrainEvalMixup",
        "wrong mode",
    ),
    "variables in a list": (
        Job(lambda: [Hiding(), Dense(3, "softmax")]), "FrozenParameters", "parameters not trained"
    ),
    "a layer in a function": (Job(calling), "FrozenParameters", "parameters not trained"),
    "rare classes": (
        Job(dense(), targets=lambda: np.where(np.arange(768) % 32, 0, CLASSES)), "ClassImbalance", "class imbalance"
    ),
}  # fmt: skip


@pytest.fixture
def evaluate(make_hook, open_trial, recommended_issues):
    """Return a function that runs a job of two epochs with the hook, and gives what the recommended rules find."""

    def run(job, saved=SAVED, save_interval=1):
        keras.utils.set_random_seed(1)
        inputs, targets = job.inputs(), np.asarray(job.targets())
        model = keras.Sequential([keras.Input(inputs.shape[1:]), *job.layers()])
        model.compile(job.optimizer(), job.loss, jit_compile=False)
        hook = make_hook(include_collections=saved, save_config=smd.SaveConfig(save_interval=save_interval))
        training, validation = ((values[:NUM_TRAINING], values[NUM_TRAINING:]) for values in (inputs, targets))
        (x, held_x), (y, held_y) = training, validation
        model.fit(
            x, y, batch_size=16, epochs=2, shuffle=job.shuffle, validation_data=(held_x, held_y), verbose=0,
            callbacks=[hook],
        )  # fmt: skip
        return recommended_issues(open_trial(hook))

    return run


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_job_leaves_all_rules_silent(evaluate, name):
    """Whatever its layers, its loss and its data are."""
    assert [str(issue.message) for issue in evaluate(SOUND[name])] == []


@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # which is what one of the faults is
@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_job_is_found_and_its_cause_named(evaluate, name):
    """By the rule that is for it."""
    job, rule, cause = FAULTS[name]
    issues = evaluate(job)
    assert rule in {issue.rule for issue in issues}
    assert cause in [likely.name for likely in likely_causes(issues)][:2]


@pytest.mark.parametrize(("saved", "save_interval"), [(["weights", "gradients"], 1), ([], 1), (SAVED, 5)])
def test_rules_stay_silent_when_little_was_saved(evaluate, saved, save_interval):
    """What cannot be told is not guessed."""
    assert evaluate(SOUND["normalised"], saved, save_interval) == []
