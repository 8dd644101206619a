"""Workers beside each other while a job runs."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.looking.measuring import LAST_COLUMNS, MeasureReader
from sagemaker_debug_ext.looking.ranks import RankReader
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

WORKERS = ("worker_0", "worker_1", "worker_2")
COUNT = 150
PARTS_AT = 37


def write_steps(writer, steps):
    """Write gradients that are alike, but for one step of a worker."""
    for step in steps:
        for number, worker in enumerate(WORKERS):
            values = {f"gradient/w{layer}": np.full(4, 1 + 0.01 * number, "f4") for layer in range(3)}
            values["w0"] = np.full(4, float(step))
            if step == PARTS_AT and number == 1:
                values["gradient/w2"] = values["gradient/w2"] * np.float32(16)
            writer.write(ModeKeys.TRAIN, step, values, global_step=step, worker=worker)


@pytest.fixture
def job(tmp_path):
    writer = SmallTrial(tmp_path / "job", WORKERS, {"weights": ["^w"]})
    write_steps(writer, range(10))
    return writer, create_trial(str(tmp_path / "job"))


def test_ranks_when_followed_with_a_limit_then_few_columns_and_the_same_deviations(job):
    """Older steps share columns, which keep the largest deviation; the tensor and the last steps are named as ever."""
    writer, trial = job
    reader = RankReader(trial, max_columns=40)
    for begin in range(10, COUNT, 20):
        write_steps(writer, range(begin, begin + 20))
        trial.refresh_data()
        found = reader.read(60)
        whole = RankReader(trial).read(60)
        assert (found.workers, found.tensors, found.last_steps) == (whole.workers, whole.tensors, whole.last_steps)
        assert found.steps[-LAST_COLUMNS:] == whole.steps[-LAST_COLUMNS:]
        places = np.searchsorted(whole.steps, found.steps)
        np.testing.assert_array_equal(found.octaves, np.maximum.reduceat(whole.octaves, places, axis=1))
        assert found.saved.all()
    assert len(found.steps) <= 40
    assert found.tensors[1] == "gradient/w2"
    assert whole.steps[whole.octaves[1].argmax()] == PARTS_AT
    assert reader.read(60).steps == found.steps


def test_ranks_when_tensors_come_later_then_all_is_read_anew(job):
    """Deviations of earlier steps are computed again, of the tensors that all workers have."""
    writer, trial = job
    reader = RankReader(trial, max_columns=40)
    write_steps(writer, range(10, 60))
    trial.refresh_data()
    reader.read(60)
    for worker in WORKERS:
        writer.write(ModeKeys.TRAIN, 60, {"gradient/new": np.ones(3, "f4")}, global_step=60, worker=worker)
    trial.refresh_data()
    found, whole = reader.read(60), RankReader(trial, 40).read(60)
    assert found.steps == whole.steps
    np.testing.assert_array_equal(found.octaves, whole.octaves)


def test_ranks_when_all_workers_but_one_have_died_then_the_past_stays(tmp_path, monkeypatch):
    """What was compared is shown, and the last worker goes on alone."""
    monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "4")
    writer = SmallTrial(tmp_path / "job", WORKERS)
    write_steps(writer, range(60))
    trial = create_trial(str(tmp_path / "job"))
    reader = RankReader(trial, max_columns=200)
    reader.read(60)
    for step in range(60, 120):
        writer.write(ModeKeys.TRAIN, step, {"gradient/w0": np.ones(4, "f4")}, global_step=step, worker="worker_0")
        trial.refresh_data()
        found = reader.read(60)
    assert found.workers == WORKERS
    assert found.last_steps == (119, 59, 59)
    assert found.tensors[1] == "gradient/w2"
    assert found.steps[0] == 0
    assert not found.saved[1:, found.steps.index(60) :].any()


def test_measures_when_earlier_steps_are_forgotten_then_later_ones_are_as_ever(job):
    """The change of a weight after the first step that is left is known, too."""
    writer, trial = job
    reader = MeasureReader(trial)
    reader.read()
    reader.forget_before(6)
    write_steps(writer, range(10, 20))
    trial.refresh_data()
    assert reader.read()
    grids, whole = reader.measures().grids, MeasureReader(trial)
    whole.read()
    assert grids.keys() == whole.measures().grids.keys() >= {"gradient_norm", "update_ratio"}
    for name, grid in whole.measures().grids.items():
        assert grids[name].steps == grid.steps[6:] == tuple(range(6, 20))
        np.testing.assert_array_equal(grids[name].values, grid.values[:, 6:])
    assert reader.measures().num_read == reader.measures().num_steps == 20
