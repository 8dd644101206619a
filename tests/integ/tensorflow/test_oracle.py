"""The original library opens trials of Keras models and of gradient tapes, and says the same of them as this package.

It runs in a process of its own, with a protobuf of plain Python, because TensorFlow needs a newer protobuf.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys

import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402

pytestmark = pytest.mark.skipif(importlib.util.find_spec("smdebug") is None, reason="the original is not installed")

READER = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
from smdebug import modes
from smdebug.trials import create_trial

def describe(value):
    return [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]

trial = create_trial(sys.argv[1])
json.dump({
    "steps": {mode.name: trial.steps(mode) for mode in modes},
    "collections": {name: trial.tensor_names(collection=name) for name in trial.collections()},
    "values": {
        name: {step: describe(trial.tensor(name).value(step)) for step in trial.tensor(name).steps()}
        for name in trial.tensor_names()
    },
}, open(sys.argv[2], "w"))
"""
ENVIRONMENT = {
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
    "SMDEBUG_LOG_LEVEL": "off",
    "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0",
}


@pytest.fixture
def ask_original(tmp_path):
    """Return what the original's reader finds in a trial."""

    def ask(path):
        answer = tmp_path / "answer.json"
        subprocess.run(
            [sys.executable, "-c", READER, path, str(answer)],
            check=True,
            env={**os.environ, **ENVIRONMENT},
            timeout=200,
        )
        return json.loads(answer.read_text())

    return ask


def describe(value):
    return [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]


def compare(trial, found):
    """Compare all names, steps, collections and values."""
    assert found["steps"] == {mode.name: trial.steps(mode) for mode in smd.modes}
    assert found["collections"] == {name: trial.tensor_names(collection=name) for name in trial.collections()}
    assert sorted(found["values"]) == trial.tensor_names()
    for name, values in found["values"].items():
        assert {int(step): value for step, value in values.items()} == {
            step: describe(value) for step, value in trial.tensor(name).values().items()
        }, name


EVERYTHING = ["weights", "biases", "gradients", "layers", "inputs", "outputs", "optimizer_variables"]


def test_original_when_it_reads_a_trial_of_fit_then_agrees(build, fit, data, make_hook, open_trial, ask_original):
    """Training, validation and prediction with everything saved."""
    hook = make_hook(include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=3))
    model = build()
    fit(model, hook)
    model.predict(data[0], batch_size=8, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    assert len(trial.tensor_names()) > 30
    compare(trial, ask_original(trial.path))


def test_original_when_it_reads_a_trial_of_a_tape_then_agrees(build, data, make_hook, open_trial, ask_original):
    """A loop of the script's own, as a graph, with everything saved."""
    hook = make_hook(include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=2))
    model = build()
    hook.register_model(model)
    optimizer = hook.wrap_optimizer(model.optimizer)
    loss_function = keras.losses.SparseCategoricalCrossentropy()

    @tf.function
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_function(y, model(x, training=True))
        hook.save_scalar("number", loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    for x, y in tf.data.Dataset.from_tensor_slices(data).batch(8):
        step(x, y)
    trial = open_trial(hook)
    assert len(trial.tensor_names()) > 20
    compare(trial, ask_original(trial.path))
