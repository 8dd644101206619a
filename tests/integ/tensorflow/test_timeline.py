"""Steps of Keras scripts that know nothing of being timed."""

from __future__ import annotations

import pytest

from support.timelines import count_phases, run_script

TRAINING = """
import hashlib, os, sys
import keras
import numpy as np

keras.utils.set_random_seed(0)
inputs, targets = np.random.normal(size=(64, 4)), np.random.normal(size=(64, 1))
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(inputs, targets, batch_size=8, epochs=2, validation_split=0.25, verbose=0)
model.evaluate(inputs, targets, batch_size=16, verbose=0)
model.predict(inputs, batch_size=32, verbose=0)
keras.models.clone_model(model)
print(hashlib.sha256(b"".join(keras.ops.convert_to_numpy(value).tobytes() for value in model.weights)).hexdigest())
"""


def test_batches_when_a_script_trains_then_each_is_a_step_of_its_mode(tmp_path):
    """Two epochs of six batches, validation of two, four of evaluation and two of prediction."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    plain = run_script(TRAINING, **quiet)
    assert run_script(TRAINING, tmp_path, **quiet) == plain
    assert count_phases(tmp_path) == {
        "Step:ModeKeys.TRAIN": 12,
        "Step:ModeKeys.EVAL": 2 * 2 + 4,
        "Step:ModeKeys.PREDICT": 2,
    }


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_batches_when_keras_runs_on_another_back_end_then_are_steps_too(tmp_path, backend):
    """With PyTorch the data loader is timed as well."""
    pytest.importorskip(backend)
    variables = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    plain = run_script(TRAINING, **variables)
    assert run_script(TRAINING, tmp_path, **variables) == plain
    assert count_phases(tmp_path)["Step:ModeKeys.TRAIN"] == 12
