"""A trial that is followed while another thread writes it, in a folder of this machine."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.errors import NoMoreData
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import Polling, StepState, create_trial

NUM_STEPS = 40
NUM_WORKERS = 2
FAST = Polling(poll_seconds=0.001)


def value(step, rank):
    return np.full((3, 2), step * 10 + rank, np.float32)


class RunningJob(threading.Thread):
    """Writes a trial, each worker at its own pace; both wait for the reader at every tenth step."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.backend = LocalBackend(folder)
        self.seen_step = threading.Semaphore(0)

    def run(self):
        writers = [TrialWriter(self.backend, f"worker_{rank}") for rank in range(NUM_WORKERS)]
        for writer in writers:
            writer.write_collections([{"name": "weights", "include_regex": ["weight"]}], NUM_WORKERS)
        for step in range(NUM_STEPS):
            mode = modes.EVAL if step % 4 == 3 else modes.TRAIN
            for rank, writer in enumerate(writers):
                tensor = NamedTensor("weight", value(step, rank), 0.0)
                writer.write_step(StepData(step, mode, step // 4 if mode is modes.EVAL else step, [tensor]))
            if step % 10 == 9:
                self.seen_step.acquire(timeout=60)
        writers[0].end()


@pytest.fixture
def running_job(tmp_path):
    job = RunningJob(tmp_path / "run")
    job.start()
    yield job
    for _ in range(NUM_STEPS):
        job.seen_step.release()
    job.join(60)


def test_running_trial_when_followed_then_every_step_is_seen_whole(running_job):
    """A step that is available has all workers' values, and nothing is missed at the end."""
    trial = create_trial(running_job.backend.root, wait_seconds=60, polling=FAST)
    seen = []
    while not trial.loaded_all_steps:
        for step in trial.steps()[len(seen) :]:
            for rank in range(NUM_WORKERS):
                assert np.array_equal(trial.tensor("weight").value(step, worker=f"worker_{rank}"), value(step, rank))
            seen.append(step)
            if step % 10 == 9:
                running_job.seen_step.release()
    assert seen == trial.steps() == list(range(NUM_STEPS))
    assert trial.problems() == ()


def test_running_trial_when_waited_for_then_steps_come_and_the_end_is_known(running_job):
    """Waiting works across modes and ends with the job."""
    trial = create_trial(running_job.backend.root, wait_seconds=60, polling=FAST)
    for step in range(9, NUM_STEPS, 10):
        assert trial.has_passed_step(step + 1) is StepState.NOT_YET_AVAILABLE
        trial.wait_for_steps([step - 5, step], timeout_seconds=60)
        running_job.seen_step.release()
    trial.wait_for_steps([9], modes.EVAL, timeout_seconds=60)
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([NUM_STEPS])


def test_running_trial_when_used_by_several_threads_then_all_read_the_same(running_job):
    """Queries of several threads do not disturb each other while the trial grows."""
    trial = create_trial(running_job.backend.root, wait_seconds=60, polling=FAST)
    errors = []

    def look():
        try:
            while not trial.loaded_all_steps:
                for step, array in trial.tensor("weight").values(worker="worker_1").items():
                    assert np.array_equal(array, value(step, 1))
                assert trial.tensor_names(mode=modes.TRAIN) == ["weight"]
                steps = trial.steps(modes.TRAIN)
                assert steps == sorted(set(steps))
                assert repr(trial)
        except Exception as error:  # noqa: BLE001 - whatever fails in a thread is for the test to report
            errors.append(error)

    trial.wait_for_steps([9], timeout_seconds=60)
    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(NUM_STEPS):
        running_job.seen_step.release()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert errors == []
    assert trial.steps() == list(range(NUM_STEPS))
