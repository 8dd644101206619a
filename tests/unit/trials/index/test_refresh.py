"""Following index files: what is new or changed is read, once, in any order; the rest is described."""

from __future__ import annotations

import gc
import os
import tracemalloc

import pytest

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.index import IndexFile, Location
from sagemaker_debug_ext.store.format.keys import STEPS_PER_INDEX_FOLDER, event_key, index_key
from sagemaker_debug_ext.trials import StepState
from sagemaker_debug_ext.trials.index.refresh import IndexReader
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.step_range import StepRange
from sagemaker_debug_ext.vocabulary import ModeKeys

FAR_AWAY = (
    b'{"meta": {"mode": "TRAIN", "mode_step": 1, "event_file_name": "events/x"},'
    b' "tensor_payload": [{"tensorname": "a", "start_idx": 36893488147419103232, "length": 1}]}'
)


def test_refresh_when_nothing_is_new_then_reads_nothing(new_job, open_trial, counting_backend):
    """A look at a trial without news costs listings, no matter how many steps it has."""
    job = new_job(counting_backend).write_collections()
    for step in range(20):
        job.write(step)
    trial = open_trial(job)
    counting_backend.reads.clear()
    assert len(trial.steps()) == 20
    assert counting_backend.reads == []
    job.write(20)
    assert len(trial.steps()) == 21
    assert counting_backend.reads == [index_key(20, "worker_0")]


def test_refresh_when_all_is_known_then_asks_nothing(new_job, open_trial, counting_backend):
    """An ended trial is listed once."""
    trial = open_trial(new_job(counting_backend).write_collections().write(0).end())
    assert trial.loaded_all_steps
    counting_backend.lists.clear()
    assert trial.steps() == [0]
    assert trial.tensor_names() == ["loss"]
    assert trial.has_passed_step(7) is StepState.UNAVAILABLE
    assert counting_backend.lists == []


def test_refresh_when_an_earlier_step_comes_late_then_seen(new_job, open_trial):
    """Index files count whenever they come."""
    job = new_job().write_collections().write(5)
    trial = open_trial(job)
    assert trial.steps() == [5]
    job.write(2)
    assert trial.steps() == [2, 5]
    assert trial.tensor("loss").value(2) == 0.5


def test_refresh_when_a_step_is_written_again_then_the_new_one_counts(new_job, open_trial):
    """A replaced file replaces what was known of it, its mode included."""
    job = new_job().write_collections().write(0, {"a": 1, "b": 2})
    trial = open_trial(job)
    job.write(0, {"b": 3.5}, mode=ModeKeys.EVAL)
    assert trial.tensor_names() == ["b"]
    assert trial.tensor("b").value(0) == 3.5
    assert list(trial.modes()) == [ModeKeys.EVAL]
    assert not trial.has_tensor("a")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"meta": {}}',
        b'{"meta": {"mode": "TRAIN", "mode_step": 1}}',
        b'{"meta": {"mode": "NONE", "mode_step": 1}, "tensor_payload": []}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"meta": {"mode": "TRAIN", "mode_step": 1, "event_file_name": "/etc/passwd"}, "tensor_payload": []}',
        FAR_AWAY,
    ],
)
def test_index_file_when_damaged_then_described_and_read_once_it_is_replaced(new_job, open_trial, caplog, content):
    """A damaged file costs its own step of its own worker, is reported once, and may be repaired."""
    job = new_job(num_workers=2).write_collections().write(0).write(1, workers=["worker_0"])
    key = index_key(1, "worker_1")
    job.backend.write(key, (content,))
    trial = open_trial(job)
    assert trial.steps(show_incomplete_steps=True) == [0, 1]
    assert trial.tensor("loss").workers(1) == ["worker_0"]
    assert [problem.path for problem in trial.problems()] == [f"{job.backend.url}/{key}"]
    assert len(caplog.records) == 1
    job.write(1, workers=["worker_1"])
    assert trial.tensor("loss").workers(1) == ["worker_0"]  # a step that is known is not looked for again
    assert trial.steps() == [0, 1]
    assert trial.tensor("loss").workers(1) == ["worker_0", "worker_1"]
    assert trial.problems() == ()


def test_index_folder_when_it_holds_foreign_files_then_described(new_job, open_trial):
    """Other people's files do not matter; those that look like index files are named."""
    job = new_job().write_collections().write(0)
    job.backend.write("index/000000000/notes.json", (b"{}",))
    job.backend.write("index/000000000/000000000001_worker_0.csv", (b"x",))
    job.backend.write("index/000000000/000000000001_worker_0.json.sagemaker-uploaded", (b"x",))
    job.backend.write("index/.DS_Store", (b"x",))
    trial = open_trial(job)
    assert trial.steps() == [0]
    assert [problem.path for problem in trial.problems()] == [f"{job.backend.url}/index/000000000/notes.json"]


def test_index_file_when_the_system_refuses_it_then_tried_again(new_job, open_trial, monkeypatch):
    """What cannot be read today is a problem, and may be readable at the next look."""
    job = new_job().write_collections().write(0).write(1)
    read = job.backend.read

    def refuse(key, start=0, length=None):
        if key == index_key(1, "worker_0"):
            raise PermissionError(13, "Permission denied")
        return read(key, start, length)

    monkeypatch.setattr(job.backend, "read", refuse)
    trial = open_trial(job)
    assert trial.steps() == [0]
    assert "Permission denied" in trial.problems()[0].reason
    monkeypatch.setattr(job.backend, "read", read)
    assert trial.steps() == [0, 1]
    assert trial.problems() == ()


def test_range_when_given_then_other_steps_are_not_read(new_job, open_trial, counting_backend):
    """Index files outside of the range cost nothing."""
    job = new_job(counting_backend).write_collections()
    for step in range(10):
        job.write(step)
    counting_backend.reads.clear()
    trial = open_trial(job, range_steps=(3, 5))
    assert trial.steps() == [3, 4]
    assert [key for key in counting_backend.reads if key.startswith("index/")] == [
        index_key(3, "worker_0"),
        index_key(4, "worker_0"),
    ]
    assert trial.has_passed_step(7) is StepState.UNAVAILABLE


def test_visible_since_then_the_time_of_the_last_worker_that_wrote_the_step(tmp_path, new_job, open_trial):
    """As the storage tells it; unknown for a step that is not there, and where the storage keeps no times."""
    job = new_job(LocalBackend(str(tmp_path)), num_workers=2).write_collections().write(3).write(8)
    for worker, seconds in (("worker_0", 2_000_000), ("worker_1", 1_000_000)):
        os.utime(tmp_path / index_key(3, worker), (seconds, seconds))
    reader = open_trial(job).index_reader
    assert reader.visible_since(3) == 2_000_000
    assert reader.visible_since(8) > 1_000_000_000
    assert reader.visible_since(4) is None
    assert open_trial(new_job().write_collections().write(0)).index_reader.visible_since(0) is None


def test_step_after_then_the_next_complete_one(new_job, open_trial):
    """A step that a worker has yet to write counts once the job has ended."""
    job = new_job(num_workers=2).write_collections().write(2).write(5).write(9, workers=["worker_0"])
    trial = open_trial(job)
    reader = trial.index_reader
    assert [reader.step_after(step) for step in (-1, 0, 2, 4, 5, 9)] == [2, 2, 5, 5, None, None]
    job.end()
    trial.maybe_refresh()
    assert [reader.step_after(step) for step in (4, 5, 8, 9)] == [5, 9, 9, None]


def test_refresh_when_a_job_goes_on_and_on_then_memory_grows_by_few_bytes_a_step(tmp_path):
    """A reader that follows a job for a million steps needs a fifth of a gigabyte, not more than that."""
    backend = LocalBackend(tmp_path)
    index = TrialIndex()
    reader = IndexReader(backend, index, Problems(backend.url), StepRange())

    def write(steps):
        for step in steps:
            tensors = {f"t{number}": Location(number * 100, 100) for number in range(10)}
            file = IndexFile(ModeKeys.TRAIN, step, event_key(step, "worker_0"), tensors)
            backend.write(index_key(step, "worker_0"), (file.to_json().encode(),))
        reader.refresh(settled_step=steps[0] - 1)
        reader.refresh(settled_step=steps[-1])
        gc.collect()

    stride = STEPS_PER_INDEX_FOLDER // 20  # many folders of few files
    write(range(0, 1000 * stride, stride))
    tracemalloc.start()
    try:
        write(range(1000 * stride, 3000 * stride, stride))
        num_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index.steps()) == 3000
    assert num_bytes / 2000 < 400  # 170 if folders are full


@pytest.mark.parametrize("digits", [19, 20, 200])
def test_refresh_when_a_step_is_beyond_64_bits_then_only_that_file_is_left_out(new_job, open_trial, digits):
    job = new_job().write_collections().write(1)
    content = job.backend.read(index_key(1, "worker_0"))
    job.backend.write(f"index/000000000/{'9' * digits}_worker_0.json", (content,))
    far_away = bytes(content).replace(b'"mode_step": 1', b'"mode_step": ' + b"9" * digits)
    job.backend.write(index_key(3, "worker_0"), (far_away,))
    trial = open_trial(job)
    assert trial.steps() == [1]
    assert len(trial.problems()) == 2
