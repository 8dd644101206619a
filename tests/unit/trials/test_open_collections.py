"""Opening: what is not there yet is waited for, with a line that says so, and never for ever."""

from __future__ import annotations

import logging
import math
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.trials import JobState, create_trial

HOUR = 3601  # and one second, because the clocks of writer and reader differ


@pytest.mark.parametrize(("wait_seconds", "waited"), [(None, HOUR), (0, 0), (3, 3)])
def test_open_when_nothing_comes_then_refused_as_soon_as_allowed(new_job, open_trial, clock, wait_seconds, waited):
    """A place where nothing is written is no trial in the end."""
    with pytest.raises(TrialNotFoundError, match="no trial at 'memory://"):
        open_trial(new_job(), wait_seconds=wait_seconds)
    assert clock.now == waited


@pytest.mark.parametrize("wait_seconds", [None, 2000, math.inf])
def test_open_when_the_job_has_not_begun_then_waits_for_it(new_job, open_trial, clock, wait_seconds):
    """A notebook opens a trial before its job writes, as it could with the original."""
    job = new_job(num_workers=2)
    clock.at(700, lambda: job.write_collections("worker_0"))
    clock.at(1500, lambda: job.write_collections("worker_1"))
    trial = open_trial(job, wait_seconds=wait_seconds)
    assert clock.now == 1500
    assert trial.workers() == ["worker_0", "worker_1"]


@pytest.mark.parametrize(
    ("begin", "wait_seconds", "line"),
    [
        (lambda job: None, None, "up to 60 minutes for the trial at memory://.*: no job has written to it; interrupt"),
        (lambda job: job.write(0), None, "up to 60 minutes .*: the trial has no collections file; interrupt"),
        (lambda job: job.write_collections("worker_1"), 7, r"up to 7 seconds .*: 1 of 2 .* there \(worker_1\); inter"),
    ],
    ids=["nothing", "a step", "one of two workers"],
)
def test_open_when_it_waits_then_one_line_says_what_for(new_job, open_trial, clock, caplog, begin, wait_seconds, line):
    """A cell that stands still says why, and how to go on."""
    job = new_job(num_workers=2)
    begin(job)
    clock.at(5, job.write_collections)
    with caplog.at_level(logging.WARNING):
        open_trial(job, wait_seconds=wait_seconds)
    (said,) = caplog.messages
    assert re.search(line, said)


def test_open_when_it_need_not_wait_then_says_nothing(new_job, open_trial, caplog):
    """Only a wait is announced."""
    open_trial(new_job().write_collections().write(0))
    with pytest.raises(TrialNotFoundError):
        open_trial(new_job(), wait_seconds=0)
    assert caplog.messages == []


def test_open_when_interrupted_then_stops_waiting_at_once(tmp_path):
    """Ctrl-C ends the wait of a script for a folder in which nothing appears."""
    program = (
        "import signal\n"
        "from sagemaker_debug_ext import create_trial\n"
        # A shell that starts tests in the background has them ignore Ctrl-C, and so do their children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"create_trial({os.fspath(tmp_path / 'none')!r})"
    )
    waiting = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    with waiting:
        line = waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        _, rest = waiting.communicate(timeout=60)
    assert "no job has written to it; interrupt to stop, or pass wait_seconds" in line
    assert "KeyboardInterrupt" in rest
    assert waiting.returncode == -signal.SIGINT


@pytest.mark.parametrize("begun_by", ["claim", "index", "collections"])
def test_open_when_the_job_has_begun_then_waits_for_all_its_workers(new_job, open_trial, clock, begun_by):
    """A job that has written something is waited for until it has described itself."""
    job = new_job(num_workers=2)
    {
        "claim": lambda: job.backend.create("claim.smd"),
        "index": lambda: job.write(0),
        "collections": lambda: job.write_collections("worker_0"),
    }[begun_by]()
    with pytest.raises(MissingCollectionFiles, match="no more came within 10 seconds"):
        open_trial(job, wait_seconds=10)
    assert clock.now == 10
    clock.at(700, job.write_collections)
    open_trial(job)
    assert clock.now == 700


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


def test_open_when_a_silent_job_left_no_collections_then_opens_at_once(new_job, tmp_path, clock):
    """A job that died without an end marker opens as well, once nothing has come for an hour."""
    job = new_job(LocalBackend(tmp_path), num_workers=2).write_collections("worker_0").write(0)
    for worker in job.workers:
        os.utime(tmp_path / index_key(0, worker), (time.time() - 600,) * 2)
    with pytest.raises(MissingCollectionFiles, match="no more came within 30"):
        create_trial(tmp_path, polling=clock.polling())
    assert HOUR - 605 < clock.now <= HOUR - 600
    waited = clock.now
    for worker in job.workers:
        os.utime(tmp_path / index_key(0, worker), (1, 1))
    trial = create_trial(tmp_path, polling=clock.polling())
    assert clock.now == waited
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
