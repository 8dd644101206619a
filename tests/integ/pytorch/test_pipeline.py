"""The stages of a pipeline, each in a process of its own, write one trial."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial

JOB = Path(__file__).with_name("pipeline_job.py")
STAGES = {"worker_0": "Encoder", "worker_1": "Decoder"}
NUM_BATCHES = 4

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("schedule", ["ScheduleGPipe", "Schedule1F1B"])
def test_stages_when_model_is_a_pipeline_then_each_worker_saves_its_own(tmp_path, schedule):
    """Training ends the same to the bit; a step is a call of the schedule, and holds the outputs of all its batches."""
    report = subprocess.run(
        [sys.executable, str(JOB), str(tmp_path), schedule], capture_output=True, text=True, check=False, timeout=120
    )
    assert report.returncode == 0, report.stderr
    trial = create_trial(str(tmp_path / "trial"))
    assert trial.workers() == list(STAGES)
    assert trial.num_workers == len(STAGES)
    assert trial.steps(smd.modes.TRAIN) == [0, 2]
    for worker, stage in STAGES.items():
        for name in (f"{stage}_layer.weight", f"gradient/{stage}_layer.weight", f"gradient/{stage}_layer.bias"):
            assert trial.tensor(name).steps(smd.modes.TRAIN) == [0, 2]
            assert trial.tensor(name).workers(2, smd.modes.TRAIN) == [worker]
    for prefix, workers in (("layer_output", list(STAGES)), ("MSELoss_output", ["worker_1"])):
        # In the very first step PyTorch runs every stage once more, to find the shapes of what is sent.
        at_second = [name for name in trial.tensor_names(step=2, mode=smd.modes.TRAIN) if name.startswith(prefix)]
        assert at_second == [f"{prefix}_{at}" for at in range(NUM_BATCHES)]
        for name in at_second:
            assert trial.tensor(name).workers(2, smd.modes.TRAIN) == workers
