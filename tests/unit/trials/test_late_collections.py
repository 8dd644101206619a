"""Members of a collection that are listed late are found while the job runs."""

import numpy as np

from sagemaker_debug_ext import create_trial, modes
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter


def write_step(writer, step, *names):
    tensors = [NamedTensor(name, np.zeros(2), 0.0) for name in names]
    writer.write_step(StepData(step, modes.TRAIN, step, tensors))


def collections(*members):
    return [{"name": "customs", "tensor_names": list(members)}]


def test_new_member_is_known_as_soon_as_its_first_step(tmp_path):
    """A rule that follows the job sees the same members as one that replays it."""
    writer = TrialWriter(LocalBackend(tmp_path))
    writer.write_collections(collections(), 1)
    write_step(writer, 0, "loss")
    trial = create_trial(str(tmp_path))
    assert trial.tensor_names(collection="customs", step=0) == []
    writer.write_collections(collections("mine"), 1)
    write_step(writer, 1, "loss", "mine")
    assert trial.tensor_names(collection="customs") == ["mine"]
    assert not trial.loaded_all_steps
