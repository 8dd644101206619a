"""A small Keras model, data for it, and golden trials of the same model."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)  # the models are tiny
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.set_logical_device_configuration(  # two, so that a model can have replicas
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
tf.get_logger().setLevel("ERROR")  # short runs of many small models look to TensorFlow as if one was traced often

RANDOM = np.random.default_rng(5)
INPUTS = RANDOM.normal(size=(48, 6)).astype("float32")
LABELS = RANDOM.integers(0, 3, 48)


def make_model(seed=11, optimizer=None, **settings):
    """Make the model that the golden trials were made of."""
    keras.utils.set_random_seed(seed)
    layers = [
        keras.Input((6,)),
        keras.layers.Dense(5, activation="relu", name="hid"),
        keras.layers.Dense(3, activation="softmax", name="out"),
    ]
    model = keras.Sequential(layers)
    settings.setdefault("jit_compile", False)
    settings.setdefault("metrics", ["accuracy"])
    optimizer = keras.optimizers.Adam(0.01) if optimizer is None else optimizer
    model.compile(optimizer, "sparse_categorical_crossentropy", **settings)
    return model


@pytest.fixture(autouse=True)
def _steady(outside_of_jobs):
    yield
    smd.del_hook()


@pytest.fixture
def build():
    return make_model


@pytest.fixture
def data():
    return INPUTS, LABELS


@pytest.fixture
def fit(data):
    """Train a model for two epochs of six batches, with two batches of validation after each."""

    def fit_it(model, hook=None, **arguments):
        x, y = data
        settings = {"batch_size": 8, "epochs": 2, "validation_data": (x[:16], y[:16]), "verbose": 0, "shuffle": False}
        return model.fit(x, y, callbacks=[] if hook is None else [hook], **(settings | arguments))

    return fit_it


@pytest.fixture
def hook_class():
    return smd.KerasHook


@pytest.fixture(scope="session")
def golden(unpack):
    """Return a function that gives what is expected of a golden trial."""
    return lambda name: unpack(name).expected
