"""The public face has the names that scripts import, and old scripts run with the import renamed."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("tensorflow")

import sagemaker_debug_ext.tensorflow as smd
from sagemaker_debug_ext.trials import create_trial

NAMES = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]
METHODS = [
    "create_from_json_file",
    "get_collection",
    "get_collections",
    "add_collection",
    "set_mode",
    "save_scalar",
    "save_tensor",
    "close",
    "export_collections",
    "has_default_hook_configuration",
    "should_save_tensor_or_collection",
    "wrap_optimizer",
    "wrap_tape",
    "set_gradients",
    "set_optimizer_variables",
    "add_to_collection",
    "register_model",
    "should_save_layer",
    "save_smdebug_logs",
    "save_tape_logs",
    "record_tensor_value",
    "profiler",
]

OLD_SCRIPT = """
import argparse
import numpy as np
import tensorflow as tf
import smdebug.tensorflow as smd
from smdebug.tensorflow import CollectionKeys, ReductionConfig, SaveConfig, SaveConfigMode, get_hook, modes

parser = argparse.ArgumentParser()
parser.add_argument("--out_dir")
args = parser.parse_args()
tf.keras.utils.set_random_seed(0)
layers = [tf.keras.layers.Dense(3, name="d1"), tf.keras.layers.Dense(2, name="d2")]
model = tf.keras.Sequential([tf.keras.Input((4,)), *layers])
hook = smd.KerasHook(
    out_dir=args.out_dir,
    save_config=SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2), modes.EVAL: SaveConfigMode(save_interval=1)}),
    include_collections=[CollectionKeys.WEIGHTS, CollectionKeys.GRADIENTS, CollectionKeys.LOSSES, "custom"],
    reduction_config=ReductionConfig(reductions=["mean"], save_raw_tensor=True),
)
hook.get_collection("custom").include("d1")
assert get_hook("keras") is hook
optimizer = hook.wrap_optimizer(tf.keras.optimizers.Adam())
model.compile(optimizer=optimizer, loss="mse", metrics=["mae"], jit_compile=False)
x = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
hook.save_scalar("epochs", 2)
model.fit(x, x[:, :2], batch_size=4, epochs=2, validation_data=(x, x[:, :2]), callbacks=[hook], verbose=0)
hook.set_mode(modes.EVAL)
model.evaluate(x, x[:, :2], batch_size=4, callbacks=[hook], verbose=0)
hook.close()
"""


def test_names_are_those_of_the_original():
    """Nothing that scripts import or call is missing."""
    assert [name for name in NAMES if not hasattr(smd, name)] == []
    assert set(NAMES) <= set(smd.__all__)
    assert [name for name in METHODS if not hasattr(smd.KerasHook, name)] == []
    with pytest.raises(AttributeError, match="Keras has one hook; use KerasHook"):
        _ = smd.Hook


def test_old_script_when_import_is_renamed_then_runs(tmp_path, forks):
    """A script written for the original runs with nothing but its imports changed."""
    script = tmp_path / "train.py"
    script.write_text(re.sub(r"\bsmdebug\b", "sagemaker_debug_ext", OLD_SCRIPT))
    done = forks.run_python(script, "--out_dir", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(tmp_path / "out"))
    assert trial.steps(smd.modes.TRAIN) == [0, 2, 4, 6]
    assert trial.steps(smd.modes.EVAL) == list(range(12))
    assert "d1/weights/d1/kernel:0" in trial.tensor_names(collection="custom")
    assert trial.tensor("gradients/d1/kernelGrad").reduction_values(2, smd.modes.TRAIN).keys() == {("mean", False)}
