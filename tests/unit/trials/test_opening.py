"""Opening: what is no trial is refused, what has begun is waited for, never for ever."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError


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
def test_open_when_the_job_ended_without_all_collections_then_refused_at_once(
    new_job, open_trial, clock, written_by, message
):
    """What an ended job has not written is not waited for."""
    job = new_job(num_workers=2).end()
    for worker in written_by:
        job.write_collections(worker)
    with pytest.raises(MissingCollectionFiles, match=message):
        open_trial(job, wait_seconds=100)
    assert clock.now == 0


def test_open_when_the_job_ends_while_waited_for_then_is_done(new_job, open_trial, clock):
    """The end marker ends the wait, with or without the files."""
    job = new_job(num_workers=2).write_collections("worker_0")
    clock.at(2, job.end)
    with pytest.raises(MissingCollectionFiles, match="the job has ended"):
        open_trial(job, wait_seconds=100)
    assert clock.now == 2
