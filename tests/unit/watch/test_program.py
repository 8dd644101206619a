"""The watcher: what it does when something around it fails."""

import json
import os
import signal
import socket
import sys
import threading
import types

import jsonschema
import pytest

from sagemaker_debug_ext.config.job_spec import ActionOptions, JobSpec, WatchOptions
from sagemaker_debug_ext.rules import RuleStatus
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.job_end import has_ended, write_end
from sagemaker_debug_ext.watch import program
from sagemaker_debug_ext.watch.actions import JobActions
from sagemaker_debug_ext.watch.lease import Lease
from sagemaker_debug_ext.watch.pauses import Pauses
from sagemaker_debug_ext.watch.status import STATUS_SCHEMA

RULE = {"RuleConfigurationName": "Overfit", "RuleParameters": {"rule_to_invoke": "Overfit"}}


@pytest.fixture
def storage(monkeypatch):
    """Back ends in memory, by location."""
    backends = {}

    def open_memory(location, s3=None):
        return backends.setdefault(location, MemoryBackend())

    monkeypatch.setattr(program, "open_backend", open_memory)
    monkeypatch.setattr("sagemaker_debug_ext.watch.storage.open_backend", open_memory)
    return backends


@pytest.fixture
def watcher(storage, tmp_path):
    spec = JobSpec(hook={"S3OutputPath": "s3://b/p"}, rules=(RULE,), watch=WatchOptions(poll_seconds=3_600))
    state = MemoryBackend()
    lease = Lease(state, "container")
    lease.acquire()
    return program.Watcher(spec, "job", lease, state, JobActions("job", state, ActionOptions()), tmp_path)


def record_of(watcher):
    return watcher._rules.records["Overfit"]


def test_watcher_when_another_has_taken_over_then_writes_nothing_more(watcher, storage):
    """Neither a status nor the result of a rule, which are the other's now."""
    state = watcher._state
    state.create("lease/000002.json")
    watcher._report()
    record = record_of(watcher)
    watcher._rules._update(record, RuleStatus(name="Overfit", rule="Overfit", status="Stopped"))
    assert state.read("status.json") is None
    assert record.status.status == "InProgress"
    assert not any(location.endswith("rule-output/Overfit") for location in storage)
    assert watcher.run() == program.EXIT_TAKEN_OVER


def test_watch_when_the_lease_is_held_then_says_by_whom_and_leaves_everything(storage, caplog):
    """The second watcher of a job ends well, and has changed nothing."""
    spec = JobSpec(hook={"S3OutputPath": "s3://b/p"}, rules=(RULE,))
    state = storage.setdefault(spec.state_location("job"), MemoryBackend())
    holder = Lease(state, "pod")
    assert holder.acquire()
    caplog.set_level("INFO")
    assert program.watch(spec, "job", place="container", wait=False) == program.EXIT_DONE
    assert (
        f"another watcher evaluates the rules of job job: place pod, process {holder.holder['pid']} on" in caplog.text
    )
    assert [info.key for info in state.list()] == ["lease/000001.json"]


def test_watcher_when_nobody_reads_its_output_then_still_reports(watcher, monkeypatch):
    """A closed pipe is no reason to stop evaluating."""

    class Closed:
        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            """Do nothing."""

    monkeypatch.setattr(sys, "stdout", Closed())
    watcher.status_changed(record_of(watcher))
    status = json.loads(watcher._state.read("status.json"))
    jsonschema.Draft202012Validator(STATUS_SCHEMA).validate(status)
    assert status["trial"] == {
        "path": "s3://b/p/job/debug-output",
        "last_step": None,
        "judged_step": None,
        "lag_seconds": None,
    }


def test_watcher_when_the_end_cannot_be_marked_then_still_ends(watcher, monkeypatch):
    """A storage that fails after the end of training must not keep the watcher alive."""

    def fail(_):
        raise OSError("no route to S3")

    monkeypatch.setattr(program, "has_ended", fail)
    monkeypatch.setattr("sagemaker_debug_ext.watch.evaluation.has_ended", lambda _: False)
    watcher.training_ended(0.1)
    assert watcher.run() == program.EXIT_DONE
    assert record_of(watcher).status.status == "Stopped"
    assert record_of(watcher).status.details == "the training process has ended"


def test_watcher_when_training_ends_after_all_rules_then_stays_done(watcher):
    """The end of training is noticed in another thread, maybe while the last status is written."""
    watcher.mark_end()
    assert watcher.run() == program.EXIT_DONE
    watcher.training_ended(0.0)
    watcher.hand_over()
    assert watcher._document()["watcher"]["phase"] == "done"


def test_watcher_when_it_has_stopped_its_job_then_ends_the_rules_before_the_container_dies(watcher, monkeypatch):
    """The platform kills the container two minutes after the stop, whether or not the script has ended."""
    monkeypatch.setattr(program, "_STOPPED_SECONDS", 0.1)
    watcher._actions.on_stop = watcher.job_is_stopped
    watcher._actions._client = lambda _: types.SimpleNamespace(stop_training_job=lambda **_: None)
    watcher._actions._stop({"training_job_prefix": ""}, "Other", "bad")
    assert watcher.run() == program.EXIT_DONE
    assert record_of(watcher).status.status == "Stopped"
    assert record_of(watcher).status.details == "the training job was stopped"


@pytest.mark.parametrize("is_killed", [False, True])
def test_watcher_when_training_ends_then_looks_at_once(watcher, storage, monkeypatch, is_killed):
    """It is about to pause for an hour. The hook says that it has closed; a killed process is no longer the parent."""
    monkeypatch.setattr(program, "_OTHER_WORKERS_SECONDS", 0.0)
    about_to_pause, take = threading.Event(), Pauses.take

    def announced_take(pauses, seconds):
        about_to_pause.set()
        return take(pauses, seconds)

    monkeypatch.setattr(Pauses, "take", announced_take)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        program._watch_parent(-1 if is_killed else os.getppid(), theirs, watcher, drain_seconds=3_600)
        running = threading.Thread(target=watcher.run, daemon=True)
        running.start()
        if not is_killed:
            assert about_to_pause.wait(60)
            write_end(storage["s3://b/p/job/debug-output"])
            ours.sendall(b"\n")
        running.join(60)
    assert not running.is_alive()
    assert record_of(watcher).status.details == "ClientError: the training job saved no tensors; is its hook attached?"


def test_watcher_when_it_has_ended_then_leaves_no_thread(watcher, monkeypatch):
    """It may run in the process of a submitter, who goes on while the job still trains."""
    before = set(threading.enumerate())
    watcher.job_is_stopped()
    program.follow_job(types.SimpleNamespace(has_ended=lambda: False), watcher)
    watcher._state.create("lease/000002.json")
    watcher._report()  # another watcher has taken over
    watcher.run()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive(), thread.name


def fail():
    raise OSError("no route to the cluster")


@pytest.mark.parametrize(
    ("is_beside", "answer", "is_marked"),
    [
        (False, lambda: False, False),
        (False, lambda: True, True),
        (False, fail, False),
        (False, None, False),
        (True, lambda: False, True),
    ],
)
def test_watcher_when_it_is_stopped_then_marks_the_trial_as_ended_only_if_the_job_has_ended(
    watcher, storage, monkeypatch, is_beside, answer, is_marked
):
    """A processing job may be stopped while the job trains; a container beside training is stopped after it."""
    monkeypatch.setattr(program, "follow_job", lambda *_: None)
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.update({number: handler}))
    handlers = {}
    probe = None if answer is None else types.SimpleNamespace(has_ended=answer)
    program._following(probe, 0.1, is_beside=is_beside)(watcher)
    handlers[signal.SIGTERM]()
    assert watcher.run() == program.EXIT_DONE
    status = json.loads(watcher._state.read("status.json"))
    assert status["watcher"]["phase"] == ("done" if is_marked else "handover")
    assert status["rules"][0]["RuleEvaluationStatus"] == ("Stopped" if is_marked else "InProgress")
    trial = storage.get("s3://b/p/job/debug-output")
    assert (trial is not None and has_ended(trial)) == is_marked


@pytest.mark.parametrize(
    ("environ", "message"),
    [({}, "holds no job spec"), ({"SAGEMAKER_DEBUG_EXT_JOB_1": "x"}, "SAGEMAKER_DEBUG_EXT_JOB_0 is missing")],
)
def test_main_when_there_is_no_usable_spec_then_says_so(environ, message, capsys):
    """And exits with 2, which the hook logs."""
    assert program.main([], environ) == program.EXIT_UNUSABLE
    assert message in capsys.readouterr().err
