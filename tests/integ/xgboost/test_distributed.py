"""Two processes that train one model together write one trial."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from sagemaker_debug_ext.trials import create_trial

JOB = Path(__file__).with_name("distributed_job.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run_job(folder, include_workers):
    report = subprocess.run(
        [sys.executable, str(JOB), str(folder), include_workers],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=120,
    )
    assert report.returncode == 0, report.stderr


def test_workers_when_all_write_then_each_has_its_own_values(tmp_path):
    """Workers are named by rank; metrics and trees are the same for all, predictions each worker's own."""
    run_job(tmp_path, "all")
    trial = create_trial(str(tmp_path / "trial"))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.num_workers == 2
    assert trial.steps() == [0, 1, 2]
    for name, are_equal in (
        ("train-logloss", True),
        ("trees/Gain", True),
        ("predictions", False),
        ("full_shap/f0", False),
    ):
        first, second = (trial.tensor(name).value(2, worker=worker) for worker in trial.workers())
        assert np.array_equal(first, second, equal_nan=True) == are_equal, name


def test_workers_when_one_writes_then_it_is_the_first_and_the_model_is_the_same(tmp_path):
    """What only one worker computes keeps no other waiting, and leaves no trace in the model."""
    run_job(tmp_path, "one")
    trial = create_trial(str(tmp_path / "trial"))
    assert trial.workers() == ["worker_0"]
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps
    run_job(tmp_path, "-")
    models = {path.read_bytes() for path in tmp_path.glob("model-*.json")}
    assert len(list(tmp_path.glob("model-*.json"))) == 4
    assert len(models) == 1
