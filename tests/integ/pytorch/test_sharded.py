"""Models spread over processes: each worker saves its shard, and the shape of the whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial

JOB = Path(__file__).with_name("sharded_job.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize(
    ("kind", "name", "whole", "shard"),
    [
        ("fully_shard", "Sequential_0.weight", (6, 4), (3, 4)),
        ("fully_shard", "Sequential_2.weight", (2, 6), (1, 6)),
        ("parallel", "Sequential_0.weight", (6, 4), (3, 4)),
        ("parallel", "Sequential_2.weight", (2, 6), (2, 3)),
    ],
)
def test_shards_when_model_is_spread_then_each_worker_saves_its_own(tmp_path, kind, name, whole, shard):
    """Training ends the same to the bit; shards of weights and gradients carry the shape of the whole."""
    report = subprocess.run(
        [sys.executable, str(JOB), str(tmp_path), kind], capture_output=True, text=True, check=False, timeout=120
    )
    assert report.returncode == 0, report.stderr
    trial = create_trial(str(tmp_path / "trial"))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.steps(smd.modes.TRAIN) == [0, 2]
    for prefix in ("", "gradient/"):
        tensor = trial.tensor(prefix + name)
        for step in (0, 2):
            for worker in trial.workers():
                assert tensor.value(step, smd.modes.TRAIN, worker=worker).shape == shard
                assert tensor.shape(step, smd.modes.TRAIN, worker=worker) == whole
