"""Scripts written for the original run after the rename of the package, and find the names they use."""

from __future__ import annotations

import os
import subprocess
import sys

import sagemaker_debug_ext.xgboost as smd

OLD_SCRIPT = """
import argparse
import numpy as np
import xgboost
from smdebug import CollectionKeys, SaveConfig
from smdebug.xgboost import Hook
from smdebug.trials import create_trial

def create_smdebug_hook(out_dir, frequency, collections, train_data, validation_data, hyperparameters):
    save_config = SaveConfig(save_interval=frequency)
    return Hook(out_dir=out_dir, save_config=save_config, include_collections=collections, train_data=train_data,
                validation_data=validation_data, hyperparameters=hyperparameters)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=str)
    args = parser.parse_args()
    random = np.random.RandomState(0)
    features = random.rand(60, 3)
    labels = (features[:, 0] > 0.5).astype(int)
    dtrain, dval = xgboost.DMatrix(features[:40], label=labels[:40]), xgboost.DMatrix(features[40:], label=labels[40:])
    params = {"max_depth": 3, "eta": 0.2, "objective": "binary:logistic"}
    hook = create_smdebug_hook(args.out, 2, ["metrics", "feature_importance", "average_shap", "predictions", "labels"],
                               dtrain, dval, params)
    bst = xgboost.train(params, dtrain, 6, evals=[(dtrain, "train"), (dval, "validation")], callbacks=[hook])
    trial = create_trial(args.out)
    assert trial.steps() == [0, 2, 4]
    assert "validation-logloss" in trial.tensor_names(collection=CollectionKeys.METRICS)
    assert trial.tensor("predictions").value(4).shape == (20,)
    print("fine")

main()
"""


def test_script_when_only_the_package_is_renamed_then_runs(tmp_path):
    """What the script asserts of its own trial holds."""
    script = tmp_path / "train.py"
    script.write_text(
        OLD_SCRIPT.replace("smdebug.", "sagemaker_debug_ext.").replace("smdebug ", "sagemaker_debug_ext ")
    )
    report = subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert report.returncode == 0, report.stderr
    assert report.stdout.endswith("fine\n")


def test_public_names_are_those_of_the_original():
    """The module has what scripts import from it, and no reductions, which XGBoost's hook does not know."""
    names = {"Hook", "Collection", "get_hook", "set_hook", "del_hook", "modes", "SaveConfig", "SaveConfigMode"}
    assert names | {"CollectionKeys", "create_trial"} == set(smd.__all__)
    for name in smd.__all__:
        assert getattr(smd, name) is not None
    assert not hasattr(smd, "ReductionConfig")


def test_methods_are_those_of_the_original():
    """Everything a script may call on a hook is there."""
    names = "create_from_json_file hook_from_config get_collection get_collections add_collection set_mode save_scalar"
    names += " save_tensor close export_collections has_default_hook_configuration has_default_configuration"
    names += " should_save_tensor_or_collection before_training after_iteration"
    assert [name for name in names.split() if not callable(getattr(smd.Hook, name, None))] == []
