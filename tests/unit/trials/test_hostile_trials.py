"""A file of a trial that was spoiled costs its own step, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

NUM_STEPS = 12
BAD_STEP = 5


@pytest.fixture
def folder(tmp_path):
    """A trial of two tensors."""
    writer = TrialWriter(LocalBackend(tmp_path))
    writer.write_collections([{"name": "losses", "include_regex": ["loss"], "tensor_names": []}], 1)
    for step in range(NUM_STEPS):
        data = StepData(step, ModeKeys.TRAIN, step)
        data.tensors += [NamedTensor(name, np.full(1, step, np.float32), 0.0) for name in ("loss", "weight")]
        writer.write_step(data)
    writer.end()
    return tmp_path


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    "change",
    [{"length": 0}, {"start_idx": 2**63}, {"start_idx": 2**63 - 1}, {"start_idx": 2**64}, {"length": 2**63}],
    ids=str,
)
def test_values_when_one_index_entry_is_impossible_then_other_steps_are_read(folder, change, position):
    """The step is a problem; all other steps are there, however they are asked for."""
    path = folder / index_key(BAD_STEP, "worker_0")
    content = json.loads(path.read_text())
    content["tensor_payload"][position].update(change)
    path.write_text(json.dumps(content))
    trial = create_trial(folder)
    expected = {step: float(step) for step in range(NUM_STEPS) if step != BAD_STEP}
    assert trial.scalars()["loss"] == expected
    assert {step: value.item() for step, value in trial.values()["weight"].items()} == expected
    assert trial.stack(["loss"])["loss"].ravel().tolist() == list(expected.values())
    (problem,) = trial.problems()
    assert "each record must have at least one byte, and end before byte 2^63" in str(problem)
    assert index_key(BAD_STEP, "worker_0") in problem.path
