"""Keras on PyTorch and on JAX, without TensorFlow: the same hook, as far as the back end lets it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.scripts import run_captured, write_hook_file
from support.timelines import KERAS_TRAINING, count_phases, run_script

SCRIPT = """
import json, logging, sys
import numpy as np
import keras
import sagemaker_debug_ext.tensorflow as smd

logging.basicConfig(level=logging.WARNING)
random = np.random.default_rng(5)
x, y = random.normal(size=(48, 6)).astype("float32"), random.integers(0, 3, 48)

def train(hook=None):
    keras.utils.set_random_seed(11)
    hidden = keras.layers.Dense(5, activation="relu", name="hid")
    out = keras.layers.Dense(3, activation="softmax", name="out")
    layers = [keras.Input((6,)), hidden, keras.layers.Dropout(0.2), out]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    callbacks = [hook] if hook else []
    settings = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0, "validation_data": (x[:16], y[:16])}
    history = model.fit(x, y, callbacks=callbacks, **settings).history
    predictions = model.predict(x[:8], verbose=0, callbacks=callbacks)
    return [array.tobytes().hex() for array in [*model.get_weights(), predictions]], history

plain = train()
everything = ["weights", "biases", "gradients", "layers", "inputs", "outputs", "optimizer_variables"]
config = smd.SaveConfig(save_interval=3)
hook = smd.KerasHook(sys.argv[1], save_config=config, include_collections=everything, strict=True)
captured = train(hook)
hook.close()
try:
    hook.wrap_tape(None)
except NotImplementedError as error:
    message = str(error)
json.dump({"same": plain == captured, "message": message}, open(sys.argv[2], "w"))
"""
TRAIN, EVAL, PREDICT = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT


def skip_without(backend):
    """Skip a test where Keras or a back end is not installed; to import either takes longer than to ask."""
    for name in ("keras", backend):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture
def train_on(tmp_path):
    """Train on a back end, in a process of its own."""

    def train(backend):
        skip_without(backend)
        answer = tmp_path / "answer.json"
        environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        report = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "out"), str(answer)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert report.returncode == 0, report.stderr
        return create_trial(str(tmp_path / "out")), json.loads(answer.read_text()), report.stderr

    return train


def test_torch_when_it_is_the_back_end_then_everything_is_saved_and_nothing_changes(train_on):
    """With PyTorch gradients and layers are captured as with TensorFlow."""
    trial, answer, _ = train_on("torch")
    assert answer["same"]
    assert "TensorFlow only" in answer["message"]
    assert trial.steps(TRAIN) == [0, 3, 6, 9]
    assert trial.steps(EVAL) == [0, 1, 3]
    assert trial.steps(PREDICT) == [0]
    assert trial.tensor_names(collection="gradients") == [
        f"gradients/{path}Grad" for path in ("hid/bias", "hid/kernel", "out/bias", "out/kernel")
    ]
    assert trial.tensor_names(collection="weights") == ["hid/weights/hid/kernel:0", "out/weights/out/kernel:0"]
    assert {"hid/inputs", "hid/outputs"} <= set(trial.tensor_names(collection="layers"))
    assert trial.tensor_names(collection="outputs") == ["labels", "predictions"]
    assert {"loss", "val_loss", "accuracy", "Adam/iter:0", "Adam/hid/kernel/momentum:0"} <= set(trial.tensor_names())
    assert trial.tensor("hid/outputs").value(3, TRAIN).shape == (8, 5)
    assert np.abs(trial.tensor("gradients/out/kernelGrad").value(3, TRAIN)).max() > 0


def test_jax_when_it_is_the_back_end_then_the_rest_is_saved_and_a_warning_says_so(train_on):
    """With JAX variables, losses and metrics are captured; what exists only inside of a step is not."""
    trial, answer, talk = train_on("jax")
    assert answer["same"]
    assert "the back end is JAX" in talk
    assert trial.steps(TRAIN) == [0, 3, 6, 9]
    assert trial.steps(EVAL) == [0, 1, 3]
    assert trial.tensor_names(collection="weights") == ["hid/weights/hid/kernel:0", "out/weights/out/kernel:0"]
    assert {"loss", "val_loss", "accuracy", "Adam/iter:0", "Adam/hid/kernel/momentum:0"} <= set(trial.tensor_names())
    assert trial.tensor_names(collection="gradients") == []
    kernel = trial.tensor("hid/weights/hid/kernel:0")
    assert not np.array_equal(kernel.value(0, TRAIN), kernel.value(3, TRAIN))


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_batches_when_a_script_trains_then_each_is_a_step(tmp_path, backend):
    """With PyTorch the data loader is timed as well."""
    skip_without(backend)
    variables = {"KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": ""}
    plain = run_script(KERAS_TRAINING, **variables)
    assert run_script(KERAS_TRAINING, tmp_path, **variables) == plain
    assert count_phases(tmp_path)["Step:ModeKeys.TRAIN"] == 12


ON_TORCH = """
import keras
import numpy as np

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="hid"), keras.layers.Dense(1, name="out")])
model(np.ones((2, 4), "float32"))
model.compile("sgd", "mse")
model.fit(np.ones((24, 4), "float32"), np.ones(24), 8, verbose=0)
"""


def test_run_when_keras_runs_on_torch_then_fit_is_captured_with_the_names_of_keras(tmp_path, monkeypatch):
    """Layers are PyTorch modules there, which Keras calls to build a model; these calls are no steps of training."""
    skip_without("torch")
    script = tmp_path / "train.py"
    script.write_text(ON_TORCH)
    write_hook_file(tmp_path / "hook.json", tmp_path / "out", ["weights", "gradients"])
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    captured = run_captured(script)
    assert captured.returncode == 0, captured.stderr
    trial = create_trial(str(tmp_path / "out"))
    assert trial.steps() == trial.steps(TRAIN) == list(range(3))
    assert {"loss", "gradients/hid/kernelGrad", "hid/weights/hid/kernel:0"} <= set(trial.tensor_names())
