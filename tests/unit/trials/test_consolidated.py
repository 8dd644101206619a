"""The consolidated index: read instead of the index files that it surely holds, and never believed beyond that."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.consolidated import index as consolidated_index
from sagemaker_debug_ext.store.format.keys import CONSOLIDATED_KEY, index_key
from sagemaker_debug_ext.store.job_end import finish
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.trials.index import refresh
from sagemaker_debug_ext.vocabulary import ModeKeys

NUM_STEPS = 20


@pytest.fixture(autouse=True)
def small_trials_are_worth_it(monkeypatch):
    monkeypatch.setattr(refresh, "_WORTH_KEEPING", 3)


@pytest.fixture
def job(new_job, tmp_path):
    """Write a trial whose files are as old as a trial's are when somebody consolidates it."""
    job = new_job(LocalBackend(tmp_path / "trial"), num_workers=2).write_collections()
    for step in range(NUM_STEPS):
        mode = ModeKeys.EVAL if step % 5 == 4 else ModeKeys.TRAIN
        job.write(step * 90, {"loss": [step], "w": np.arange(6.0) + step}, mode=mode, shapes={"w": (2, 3)})
    age(tmp_path / "trial")
    return job.end()


def age(folder):
    for path in folder.rglob("*.json"):
        os.utime(path, (1_000_000, 1_000_000))


def facts(trial):
    return {
        "names": trial.tensor_names(),
        "steps": [trial.steps(mode) for mode in ModeKeys],
        "mode steps": [trial.mode_modestep(step) for step in trial.steps()],
        "values": {
            (name, worker): {step: value.tolist() for step, value in trial.tensor(name).values(worker=worker).items()}
            for name in trial.tensor_names()
            for worker in trial.workers()
        },
        "shapes": [trial.tensor("w").shape(step) for step in trial.steps()],
        "problems": trial.problems(),
    }


@pytest.fixture
def index_files_read(monkeypatch):
    """Return the keys of the index files that are read from now on."""
    read = []
    read_many = LocalBackend.read_many

    def note(self, ranges):
        wanted = list(ranges)
        read.extend(wanted_range.key for wanted_range in wanted if wanted_range.key.startswith("index/"))
        return read_many(self, wanted)

    monkeypatch.setattr(LocalBackend, "read_many", note)
    return read


def test_trial_when_consolidated_then_no_index_file_is_read_and_all_is_the_same(job, tmp_path, index_files_read):
    """One file is opened instead of all index files."""
    expected = facts(create_trial(tmp_path / "trial"))
    assert len(index_files_read) == 2 * NUM_STEPS
    assert create_trial(tmp_path / "trial").consolidate() == 2 * NUM_STEPS
    index_files_read.clear()
    assert facts(create_trial(tmp_path / "trial")) == expected
    assert index_files_read == []
    ranged = create_trial(tmp_path / "trial", range_steps=(90, 270))
    assert ranged.steps() == [90, 180]


def test_index_file_when_new_or_written_again_then_read(job, tmp_path, index_files_read):
    """A file that is younger or of another size than the one that was consolidated is not taken from there."""
    create_trial(tmp_path / "trial").consolidate()
    job.write(
        0, {"loss": [100.0], "w": np.arange(6.0)}, mode=ModeKeys.TRAIN, shapes={"w": (2, 3)}, workers=["worker_0"]
    )
    job.write(90, {"v": [1.0]}, workers=["worker_1"])
    job.write(9_000, {"loss": [7.0]})
    os.utime(tmp_path / "trial" / index_key(90, "worker_1"), (1_000_000, 1_000_000))
    index_files_read.clear()
    trial = create_trial(tmp_path / "trial")
    rewritten = [index_key(0, "worker_0"), index_key(90, "worker_1")]
    assert sorted(index_files_read) == sorted([*rewritten, *(index_key(9_000, worker) for worker in trial.workers())])
    assert trial.tensor("loss").value(0, worker="worker_0") == 100
    assert trial.tensor("v").steps() == [90]
    assert trial.steps()[-1] == 9_000


def test_index_file_when_gone_then_not_there(job, tmp_path):
    """What is not listed does not exist, whatever the consolidated index holds."""
    create_trial(tmp_path / "trial").consolidate()
    for worker in ("worker_0", "worker_1"):
        (tmp_path / "trial" / index_key(180, worker)).unlink()
    assert 180 not in create_trial(tmp_path / "trial").steps()


def test_trial_when_its_files_have_lost_their_times_then_they_are_read(job, tmp_path, index_files_read):
    """A copy whose files are younger than the consolidated one is opened as if there were none."""
    expected = facts(create_trial(tmp_path / "trial"))
    create_trial(tmp_path / "trial").consolidate()
    for path in (tmp_path / "trial").rglob("*.json"):
        os.utime(path)
    index_files_read.clear()
    assert facts(create_trial(tmp_path / "trial")) == expected
    assert len(index_files_read) == 2 * NUM_STEPS


def test_consolidated_index_when_damaged_anywhere_then_passed_over(job, tmp_path):
    """No damage of it changes an answer, or is worth a word: it holds nothing that is not elsewhere."""
    expected = facts(create_trial(tmp_path / "trial"))
    create_trial(tmp_path / "trial").consolidate()
    path = tmp_path / "trial" / CONSOLIDATED_KEY
    content = path.read_bytes()
    chosen = random.Random(1)
    for _ in range(30):
        damaged = bytearray(content)
        damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        path.write_bytes(bytes(damaged[: chosen.choice([len(content), chosen.randrange(len(content))])]))
        assert facts(create_trial(tmp_path / "trial")) == expected
    path.unlink()
    path.mkdir()
    assert facts(create_trial(tmp_path / "trial")) == expected


def test_index_file_when_damaged_then_left_out_and_still_a_problem(job, tmp_path):
    """Consolidating hides nothing that is wrong with a trial."""
    broken = tmp_path / "trial" / index_key(90, "worker_1")
    broken.write_bytes(b"{")
    os.utime(broken, (1_000_000, 1_000_000))
    (tmp_path / "trial" / "index/notes.json").write_bytes(b"{}")
    assert create_trial(tmp_path / "trial").consolidate() == 2 * NUM_STEPS - 1
    trial = create_trial(tmp_path / "trial")
    assert [problem.path for problem in trial.problems()] == [str(broken), str(tmp_path / "trial" / "index/notes.json")]


def test_index_file_when_the_system_refuses_it_then_nothing_is_written(job, tmp_path, monkeypatch):
    """What cannot be read today must not be missing tomorrow."""
    read = LocalBackend.read

    def refuse(self, key, start=0, length=None):
        if key == index_key(90, "worker_1"):
            raise PermissionError(13, "Permission denied")
        return read(self, key, start, length)

    trial = create_trial(tmp_path / "trial")
    monkeypatch.setattr(LocalBackend, "read", refuse)
    with pytest.raises(PermissionError):
        trial.consolidate()
    assert not (tmp_path / "trial" / CONSOLIDATED_KEY).exists()


def test_place_when_it_tells_neither_time_nor_checksum_then_index_files_are_read(new_job, open_trial):
    """Where nothing says that a file is the same, it is read."""
    job = new_job(MemoryBackend()).write_collections()
    for step in range(10):
        job.write(step)
    assert open_trial(job).consolidate() == 10
    assert open_trial(job).steps() == list(range(10))


@pytest.mark.parametrize(
    ("value", "is_written"), [("1", True), ("true", True), ("0", False), ("", False), ("off", False)]
)
def test_job_when_the_environment_asks_for_it_then_its_last_worker_consolidates(
    new_job, tmp_path, monkeypatch, value, is_written
):
    """By default it is left to whoever reads the trial often."""
    monkeypatch.setenv(consolidated_index.CONSOLIDATE_VARIABLE, value)
    backend = LocalBackend(tmp_path)
    job = new_job(backend, num_workers=2).write_collections().write(0)
    finish(backend, "worker_1", 2)
    assert not backend.exists(CONSOLIDATED_KEY)
    finish(backend, "worker_0", 2)
    assert backend.exists(CONSOLIDATED_KEY) == is_written
    assert backend.exists("training_job_end.ts")
    assert create_trial(tmp_path).tensor("loss").workers(0) == job.workers


def test_job_when_the_index_cannot_be_consolidated_then_ends_all_the_same(tmp_path, monkeypatch, caplog):
    """It is a help to readers, and no part of a job's success."""
    monkeypatch.setenv(consolidated_index.CONSOLIDATE_VARIABLE, "1")
    (tmp_path / "consolidated").write_text("a file where a folder should be")
    backend = LocalBackend(tmp_path)
    finish(backend, "worker_0", 1)
    assert backend.exists("training_job_end.ts")
    assert "could not be written" in caplog.text
