"""Following a job: each step once it is complete, until the job ends or falls silent."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.errors import StepNotYetAvailable
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.backends.base import Changes, Watch
from sagemaker_debug_ext.store.format.keys import END_KEY, index_key
from sagemaker_debug_ext.trials import JobState, Trial, create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


def test_follow_when_the_job_ends_then_every_step_was_given_once(new_job, open_trial, clock):
    """Steps come as they are complete, those of the last moment and incomplete ones of an ended job included."""
    job = new_job(num_workers=2).write_collections().write(0)
    clock.at(5, lambda: job.write(1).write(2, workers=["worker_0"]))
    clock.at(8, lambda: job.write(2, workers=["worker_1"]))
    clock.at(10, lambda: job.write(3).write(4, workers=["worker_1"]).end())
    trial = open_trial(job)
    seen = [(step, clock.now) for step in trial.follow()]
    assert seen == [(0, 0), (1, 5), (2, 8), (3, 10), (4, 10)]
    assert trial.job_state() is JobState.ENDED
    assert list(trial.follow()) == [0, 1, 2, 3, 4]


def test_follow_when_of_a_mode_and_from_a_step_then_only_those(new_job, open_trial):
    """Steps count in the mode; earlier ones are left out."""
    job = new_job().write_collections()
    for step in range(8):
        job.write(step, mode=ModeKeys.EVAL if step % 2 else ModeKeys.TRAIN, mode_step=step // 2)
    assert list(open_trial(job.end()).follow(ModeKeys.EVAL, begin=2)) == [2, 3]


def test_follow_when_a_step_comes_late_then_given_late(new_job, open_trial, clock):
    """A step that comes up after a later one is not lost."""
    job = new_job().write_collections().write(0).write(5)
    clock.at(3, lambda: job.write(2).end())
    assert list(open_trial(job).follow()) == [0, 5, 2]


def test_follow_when_the_job_dies_then_ends_and_says_so(new_job, open_trial, clock):
    """Silence ends it after the given time; what some worker lacks stays incomplete."""
    job = new_job(num_workers=2).write_collections().write(0)
    clock.at(7, lambda: job.write(1).write(2, workers=["worker_0"]))
    trial = open_trial(job)
    assert list(trial.follow(silence_seconds=60)) == [0, 1]
    assert 67 <= clock.now <= 69
    assert trial.job_state(60) is JobState.SILENT
    assert trial.job_state() is JobState.RUNNING
    assert trial.steps(show_incomplete_steps=True) == [0, 1, 2]


def test_follow_when_held_still_then_still_follows(new_job, open_trial, clock):
    """Following is asking for news."""
    job = new_job().write_collections().write(0)
    clock.at(3, lambda: job.write(1).end())
    trial = open_trial(job)
    trial.dynamic_refresh = False
    assert list(trial.follow()) == [0, 1]


def test_trial_when_its_files_are_old_then_silent_at_once(new_job, tmp_path, clock):
    """A job that died long ago is not waited for."""
    import os

    job = new_job(LocalBackend(tmp_path)).write_collections().write(0)
    os.utime(tmp_path / index_key(0, "worker_0"), (1, 1))
    trial = create_trial(tmp_path, polling=clock.polling())
    assert trial.job_state() is JobState.SILENT
    assert list(trial.follow()) == [0]
    assert clock.now == 0
    job.write(1)
    assert trial.job_state() is JobState.RUNNING


def test_wait_when_the_job_has_died_then_not_for_ever(new_job, open_trial, clock):
    """Without a limit of its own, waiting ends when nothing has come for an hour."""
    trial = open_trial(new_job().write_collections().write(0))
    with pytest.raises(StepNotYetAvailable):
        trial.wait_for_steps([1])
    assert 3600 <= clock.now <= 3700


@pytest.mark.parametrize(("delay", "expected"), [("0", [0]), ("2", [0, 1])])
def test_trial_when_its_last_step_is_listed_late_then_seen_if_waited_for(
    new_job, open_trial, clock, monkeypatch, delay, expected
):
    """Where listings lag behind, an ended trial is looked at once more after the time that the environment gives."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", delay)
    job = new_job().write_collections().write(0).end()
    clock.at(1, lambda: job.write(1))
    trial = open_trial(job)
    assert trial.steps() == expected
    assert clock.now == int(delay)


class TornWatch(Watch):
    """Shows, as a folder that is read while files come may, a younger file before an older one."""

    hidden = ()

    def look(self, settled=""):
        found = [info for info in self._backend.list(self._prefix) if info.key not in self.hidden]
        changed = self._take_in(found)
        self.hidden = ()
        return Changes(changed, is_snapshot=not changed)

    look_at_all = look


class TornBackend(MemoryBackend):
    def watch(self, prefix):
        self.only_watch = TornWatch(self, prefix)
        return self.only_watch


def test_step_when_a_listing_missed_a_worker_then_not_complete_yet(new_job):
    """That a later step is complete proves an earlier one only once everything older has surely been seen."""
    job = new_job(TornBackend(), num_workers=2).write_collections().write(0)
    trial = Trial("trial", job.backend)
    job.write(1).write(2)
    job.backend.only_watch.hidden = (index_key(1, "worker_1"),)
    for step in trial.steps():
        assert trial.tensor("loss").workers(step) == ["worker_0", "worker_1"]
        assert trial.tensor("loss").values(worker="worker_1")
    assert trial.steps() == [0, 1, 2]


def test_steps_when_handed_out_then_nobody_elses(new_job, open_trial):
    """A list that was handed out neither grows with the trial nor changes it."""
    job = new_job().write_collections().write(0)
    trial = open_trial(job)
    lists = [trial.steps(), trial.steps(ModeKeys.TRAIN), trial.steps(show_incomplete_steps=True),
             trial.tensor("loss").steps(), trial.tensor("loss").steps(ModeKeys.TRAIN, True)]  # fmt: skip
    job.write(1)
    trial.steps()
    assert lists == [[0]] * 5
    for returned in lists:
        returned.append(99)
    assert trial.steps() == trial.tensor("loss").steps() == trial.tensor("loss").steps(ModeKeys.TRAIN) == [0, 1]


class LastMomentBackend(MemoryBackend):
    """Does what is left to do right before it is asked for the end marker."""

    last_moment = None

    def exists(self, key):
        if key == END_KEY and self.last_moment is not None:
            happens, self.last_moment = self.last_moment, None
            happens()
        return super().exists(key)


def test_trial_when_the_job_ends_while_looked_at_then_its_last_step_is_not_missed(new_job):
    """The end marker is looked for first, because what it ends was written before it."""
    job = new_job(LastMomentBackend()).write_collections().write(0)
    trial = Trial("trial", job.backend)
    job.backend.last_moment = lambda: job.write(1).end()
    assert trial.steps() == [0, 1]
    assert trial.loaded_all_steps
    assert trial.tensor("loss").steps() == [0, 1]


def test_trial_when_the_job_ends_while_opened_then_its_collections_are_not_missed(new_job):
    """The same holds for the files that describe the workers."""
    job = new_job(LastMomentBackend()).write(0)
    job.backend.last_moment = lambda: job.write_collections().end()
    trial = Trial("trial", job.backend, wait_seconds=0)
    assert list(trial.collections()) == ["losses"]
    assert trial.problems() == ()
