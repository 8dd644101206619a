"""Two processes under torch.distributed write one trial."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial

JOB = Path(__file__).with_name("distributed_job.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run_job(folder, include_workers):
    report = subprocess.run(
        [sys.executable, str(JOB), str(folder), include_workers], capture_output=True, text=True, check=False
    )
    assert report.returncode == 0, report.stderr
    return str(folder / "trial")


def test_workers_when_all_write_then_each_has_its_own_values(tmp_path):
    """Workers are named by rank, readers know how many there are, and gradients are each worker's own."""
    trial = create_trial(run_job(tmp_path, "all"))
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.num_workers == 2
    assert trial.steps(smd.modes.TRAIN) == [0, 1]
    gradient = trial.tensor("gradient/DistributedDataParallel_module.weight")
    values = [gradient.value(0, smd.modes.TRAIN, worker=worker).tolist() for worker in trial.workers()]
    assert values == [[[0, 0, 0]], [[1, 1, 1]]]


def test_workers_when_one_writes_then_it_is_the_first(tmp_path):
    """By default rank 0 writes, and readers wait for nobody else."""
    trial = create_trial(run_job(tmp_path, "one"))
    assert trial.workers() == ["worker_0"]
    assert trial.num_workers == 1
    assert trial.steps(smd.modes.TRAIN) == [0, 1]


@pytest.mark.parametrize("include_workers", ["all", "one"])
def test_workers_when_captured_then_train_as_without_a_hook(tmp_path, include_workers):
    """Parameters and random numbers of each worker are the same, bit by bit."""
    for workers in (include_workers, "without"):
        (tmp_path / workers).mkdir()
        run_job(tmp_path / workers, workers)
    for rank in range(2):
        with_hook, without = (torch.load(tmp_path / folder / f"{rank}.pt") for folder in (include_workers, "without"))
        assert all(torch.equal(left, right) for left, right in zip(with_hook, without, strict=True))
