"""A small Keras model, data for it, and golden trials of the same model."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

pytest.importorskip("tensorflow")
pytest.importorskip("keras")

from support.forks import ScriptForks
from support.keras_training import INPUTS, LABELS, Trainer, make_model


@pytest.fixture(scope="session")
def forks():
    """Run scripts in processes that have Keras on TensorFlow already."""
    with ScriptForks("tensorflow", "keras") as server:
        yield server


@pytest.fixture
def trainer():
    return Trainer


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
        settings = {"x": x, "y": y, "batch_size": 8, "epochs": 2, "validation_data": (x[:16], y[:16])}
        callbacks = [] if hook is None else [hook]
        return model.fit(callbacks=callbacks, verbose=0, **({"shuffle": False} | settings | arguments))

    return fit_it


@pytest.fixture(scope="session")
def golden(unpack):
    """Return a function that gives what is expected of a golden trial."""
    return lambda name: unpack(name).expected
