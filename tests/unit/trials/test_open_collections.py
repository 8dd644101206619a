"""Opening: what is no trial is refused, what has begun is waited for, never for ever."""

from __future__ import annotations

import os

import pytest

from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.trials import JobState, create_trial


@pytest.mark.parametrize(("wait_seconds", "waited"), [(None, 0), (0, 0), (3, 3)])
def test_open_when_nothing_is_there_then_refused_as_soon_as_allowed(new_job, open_trial, clock, wait_seconds, waited):
    """An empty place is no trial; it is only waited for when asked to."""
    with pytest.raises(TrialNotFoundError, match="no trial at 'memory://"):
        open_trial(new_job(), wait_seconds=wait_seconds)
    assert clock.now == waited


def test_open_when_the_job_has_not_begun_then_can_be_waited_for(new_job, open_trial, clock):
    """A trial can be opened before its job writes."""
    job = new_job(num_workers=2)
    clock.at(5, lambda: job.write_collections("worker_0"))
    clock.at(9, lambda: job.write_collections("worker_1"))
    trial = open_trial(job, wait_seconds=60)
    assert clock.now == 9
    assert trial.workers() == ["worker_0", "worker_1"]


@pytest.mark.parametrize("begun_by", ["claim", "index", "collections"])
def test_open_when_the_job_has_begun_then_is_waited_for_a_while(new_job, open_trial, clock, begun_by):
    """A job that has written something is given ten seconds to describe itself."""
    job = new_job(num_workers=2)
    {
        "claim": lambda: job.backend.create("claim.smd"),
        "index": lambda: job.write(0),
        "collections": lambda: job.write_collections("worker_0"),
    }[begun_by]()
    with pytest.raises(MissingCollectionFiles, match="no more came within 10 seconds"):
        open_trial(job)
    assert clock.now == 10
    clock.at(15, job.write_collections)
    open_trial(job)
    assert clock.now == 15


@pytest.mark.parametrize(
    ("written_by", "message"),
    [((), "no collections file, and the job has ended"), (("worker_1",), r"1 of 2 .* \(worker_1\), and the job has")],
)
def test_open_when_the_job_ended_without_all_collections_and_steps_then_refused_at_once(
    new_job, open_trial, clock, written_by, message
):
    """What an ended job has not written is not waited for."""
    job = new_job(num_workers=2).end()
    for worker in written_by:
        job.write_collections(worker)
    with pytest.raises(MissingCollectionFiles, match=message):
        open_trial(job, wait_seconds=100)
    assert clock.now == 0


@pytest.mark.parametrize(
    ("written_by", "reason"),
    [
        ((), "the trial has no collections file, and the job has ended"),
        (("worker_1",), "1 of 2 workers' collections files are there (worker_1), and the job has ended"),
    ],
)
def test_open_when_a_dead_worker_left_no_collections_then_the_rest_is_usable(
    new_job, open_trial, clock, written_by, reason
):
    """An ended job whose workers died before they described themselves opens; what is missing is a problem."""
    job = new_job(num_workers=2).write(0).write(1, workers=["worker_1"]).end()
    for worker in written_by:
        job.write_collections(worker)
    trial = open_trial(job, wait_seconds=100)
    assert clock.now == 0
    assert [(problem.path, problem.reason) for problem in trial.problems()] == [
        (f"{job.backend.url}/collections/000000000/", reason)
    ]
    assert trial.num_workers == 2
    assert trial.workers() == (["worker_1"] if written_by else ["worker_0", "worker_1"])
    assert trial.steps() == [0, 1]
    assert trial.tensor("loss").workers(0) == ["worker_0", "worker_1"]
    assert trial.tensor("loss").values(worker="worker_1") == {0: 0.5, 1: 0.5}
    assert list(trial.collections()) == (["losses"] if written_by else [])


def test_open_when_a_silent_job_left_no_collections_then_opens_after_the_wait(new_job, tmp_path, clock):
    """A job that died without an end marker opens as well, once nothing has come for an hour."""
    job = new_job(LocalBackend(tmp_path), num_workers=2).write_collections("worker_0").write(0)
    with pytest.raises(MissingCollectionFiles, match="no more came within 10 seconds"):
        create_trial(tmp_path, polling=clock.polling())
    for worker in job.workers:
        os.utime(tmp_path / index_key(0, worker), (1, 1))
    trial = create_trial(tmp_path, polling=clock.polling())
    assert clock.now == 20
    assert trial.job_state() is JobState.SILENT
    assert trial.steps() == [0]
    assert len(trial.problems()) == 1
    job.write_collections("worker_1").end()
    assert trial.steps() == [0]
    assert trial.workers() == ["worker_0", "worker_1"]
    assert trial.problems() == ()


def test_open_when_the_job_ends_while_waited_for_then_is_done(new_job, open_trial, clock):
    """The end marker ends the wait, with or without the files."""
    job = new_job(num_workers=2).write_collections("worker_0")
    clock.at(2, job.end)
    with pytest.raises(MissingCollectionFiles, match="the job has ended"):
        open_trial(job, wait_seconds=100)
    assert clock.now == 2
