"""The example of handwritten digits is an ordinary script that trains, and is captured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial

pytest.importorskip("sklearn")

SCRIPT = Path(__file__).parents[3] / "examples" / "pytorch_digits" / "train.py"
CONFIGURATION = {
    "S3OutputPath": "s3://bucket/prefix",
    "HookParameters": {"save_interval": "10", "eval.save_interval": "1"},
    "CollectionConfigurations": [
        {"CollectionName": "gradients"},
        {"CollectionName": "losses"},
        {"CollectionName": "relu_output", "CollectionParameters": {"include_regex": ".*relu_output"}},
    ],
}


@pytest.fixture
def run_script(tmp_path):
    def run(*arguments, **environment):
        config = tmp_path / "hook.json"
        config.write_text(json.dumps({**CONFIGURATION, "LocalPath": str(tmp_path / "tensors")}))
        report = subprocess.run(
            [sys.executable, str(SCRIPT), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "SMDEBUG_CONFIG_FILE_PATH": str(config), **environment},
        )
        assert report.returncode == 0, report.stderr
        return create_trial(str(tmp_path / "tensors")), report.stdout

    return run


def smallest_gradient(trial, step):
    names = trial.tensor_names(collection="gradients")
    return min(np.abs(trial.tensor(name).value(step, smd.modes.TRAIN)).mean() for name in names)


def test_example_when_healthy_then_learns_and_leaves_model_and_metrics(run_script, tmp_path):
    """The convolutional net learns, has sound gradients, and writes what a job writes."""
    model_dir, output_dir = tmp_path / "model", tmp_path / "output"
    model_dir.mkdir()
    output_dir.mkdir()
    trial, output = run_script(
        "--epochs", "15", "--batch-size", "32", SM_MODEL_DIR=str(model_dir), SM_OUTPUT_DATA_DIR=str(output_dir)
    )
    metrics = json.loads((output_dir / "metrics.json").read_text())
    assert metrics["accuracy"] > 0.9
    assert (model_dir / "model.pt").stat().st_size > 0
    assert "epoch 15/15: train_loss=" in output
    assert len(trial.steps(smd.modes.EVAL)) == 15
    assert trial.tensor("scalar/accuracy").steps(smd.modes.EVAL) == list(range(15))
    assert trial.tensor_names(collection="relu_output") == ["block1.relu_output_0", "block2.relu_output_0"]
    assert smallest_gradient(trial, 0) > 1e-5


def test_example_when_vanishing_then_gradients_are_gone_from_the_first_step(run_script, tmp_path):
    """The deep sigmoid net reads its images from the channel, and its first layers get no gradient."""
    channel = tmp_path / "channel"
    channel.mkdir()
    random = np.random.default_rng(0)
    images, labels = random.integers(0, 17, (500, 8, 8)), random.integers(0, 10, 500)
    np.savez(channel / "digits.npz", images=images, labels=labels)
    trial, _ = run_script("--model", "vanishing", "--epochs", "1", SM_CHANNEL_TRAINING=str(channel))
    assert trial.steps(smd.modes.TRAIN) == [0]
    assert smallest_gradient(trial, 0) < 1e-10
