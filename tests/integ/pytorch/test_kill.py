"""A training process may be killed at any moment: what is visible of its trial is whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.store import keys, reader
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.trials import create_trial

SERVER = Path(__file__).with_name("training_server.py")
NUM_KILLS = 50
NAMES = {"Linear_weight", "gradient/Linear_weight", "Linear_output_0", "L1Loss_output_0", "scalar/step"}

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def killed_runs(tmp_path_factory):
    """Folders of trials whose process was killed."""
    root = tmp_path_factory.mktemp("killed")
    report = subprocess.run(
        [sys.executable, str(SERVER), str(root), str(NUM_KILLS), "2026"], capture_output=True, text=True, check=False
    )
    assert report.returncode == 0, report.stderr
    killed = [line.split() for line in report.stdout.splitlines()]
    assert [int(number) for _, _, number in killed] == [signal.SIGKILL] * NUM_KILLS
    return [root / name for name, _, _ in killed]


def check_step(step, values):
    """A step holds all its tensors, and every number in them is of that very step."""
    assert set(values) == NAMES
    assert (values["Linear_weight"] == step).all()
    assert (values["gradient/Linear_weight"] == step + 1).all()
    assert (values["Linear_output_0"] == values["Linear_weight"].shape[1] * -step * (step + 1.0)).all()
    assert values["scalar/step"].tolist() == [step]


def test_steps_when_process_was_killed_then_every_visible_one_is_whole(killed_runs):
    """After SIGKILL at fifty moments, each index entry points at complete bytes of the right step."""
    lengths = []
    for folder in killed_runs:
        backend = open_backend(folder)
        steps = []
        for info in reader.list_index(backend):
            step = keys.parse_index_key(info.key).step
            index = reader.read_index(backend, info.key)
            check_step(
                step,
                {
                    name: reader.read_tensor(backend, index.event_file, location, name)
                    for name, location in index.tensors.items()
                },
            )
            steps.append(step)
        assert steps == list(range(len(steps)))
        assert not backend.exists(keys.END_KEY)
        lengths.append(len(steps))
    assert len(set(lengths)) > 5, "the kills should hit different moments"


def test_trial_when_process_was_killed_then_opens_and_answers(killed_runs):
    """A reader opens what a killed job left, and does not wait for what never comes."""
    opened = 0
    for folder in killed_runs:
        if not (folder / keys.collections_key("worker_0")).is_file():
            continue
        opened += 1
        trial = create_trial(str(folder))
        steps = trial.steps(smd.modes.TRAIN)
        assert steps == list(range(len(steps)))
        last = trial.tensor("Linear_weight").value(steps[-1], smd.modes.TRAIN)
        np.testing.assert_array_equal(last, np.full_like(last, steps[-1]))
    assert opened > NUM_KILLS // 2


def test_hook_when_earlier_process_was_killed_then_goes_on_in_its_folder(killed_runs):
    """The folder of a killed job is not locked; a new job takes it over and ends it."""
    folder = max(killed_runs, key=lambda path: len(list(path.glob("index/*/*"))))
    assert (folder / keys.CLAIM_KEY).exists()
    before = create_trial(str(folder))
    steps, weights = before.steps(), before.tensor("Linear_weight").values()
    with smd.Hook(folder, strict=True) as hook:
        hook.save_scalar("again", 1)
    trial = create_trial(str(folder))
    assert trial.steps() == [*steps, steps[-1] + 1]
    assert list(trial.tensor("scalar/again").values()) == [steps[-1] + 1]
    for step, value in trial.tensor("Linear_weight").values().items():
        np.testing.assert_array_equal(value, weights[step])
    assert not (folder / keys.CLAIM_KEY).exists()
