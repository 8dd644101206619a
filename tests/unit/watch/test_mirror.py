"""The copy of a job's folder, while parts of it cannot be written and after its trial has ended."""

from __future__ import annotations

import json
import logging
import threading

import pytest

from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format.keys import event_key
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys
from sagemaker_debug_ext.watch.mirror import JobMirror

LONG = 3_600.0
"""Seconds between two looks of a mirror that is to look only when it is asked to."""


class Copy(MemoryBackend):
    """A place for copies that may refuse objects, and on which a test can wait for one."""

    def __init__(self):
        super().__init__()
        self.refusals = {}  # key → message
        self.was_written = threading.Condition()

    def write(self, key, parts):
        if key in self.refusals:
            raise OSError(5, self.refusals[key])
        super().write(key, parts)
        with self.was_written:
            self.was_written.notify_all()

    def wait_for(self, key, content):
        with self.was_written:
            assert self.was_written.wait_for(lambda: self.read(key) == content, timeout=30)


@pytest.fixture
def copies(monkeypatch):
    """The parts of the copy, by name."""
    found = {}
    monkeypatch.setattr(
        "sagemaker_debug_ext.watch.storage.open_backend",
        lambda location, s3=None: found.setdefault(location.removeprefix("s3://b/job/"), Copy()),
    )
    return found


@pytest.fixture
def folder(tmp_path):
    """The folder of a job with a step, a result and a status."""
    SmallTrial(tmp_path / "debug-output").write(ModeKeys.TRAIN, 0, {"loss": 1.0})
    put(tmp_path, "rule-output/Overfit/rule-result.json", b"{}")
    put(tmp_path, "self-managed/status.json", b"1")
    return tmp_path


def put(folder, key, content):
    part, _, rest = key.partition("/")
    LocalBackend(folder / part).write(rest, [content])


def test_mirror_when_a_tensor_cannot_be_copied_then_the_other_parts_are(folder, copies, caplog):
    """Each part has errors of its own, which are logged when they come, change, or come again."""
    caplog.set_level(logging.WARNING)
    mirror = JobMirror(str(folder), "s3://b/job", LONG)
    tensors = copies["debug-output"]
    for refusal in ("is damaged", "is damaged", "is gone", None, "is gone"):
        put(folder, "self-managed/status.json", json.dumps(refusal).encode())
        (folder / "debug-output" / event_key(0, "worker_0")).touch()
        tensors.refusals = {} if refusal is None else {event_key(0, "worker_0"): refusal}
        mirror.finish()
        assert copies["self-managed"].read("status.json") == json.dumps(refusal).encode()
        assert copies["rule-output"].exists("Overfit/rule-result.json")
    assert [message.rpartition(": ")[2] for message in caplog.messages] == ["is damaged", "is gone", "is gone"]
    assert all(message.startswith("debug-output is not copied") for message in caplog.messages)


def test_mirror_when_its_first_look_is_the_only_one_then_the_status_is_there(folder, copies):
    """A status that changes between all looks is copied, because it appears complete."""
    mirror = JobMirror(str(folder), "s3://b/job", LONG)
    mirror.start()
    copies["self-managed"].wait_for("status.json", b"1")
    assert copies["rule-output"].read("Overfit/rule-result.json") == b"{}"
    mirror.stop()
    mirror.join()


def test_mirror_when_the_trial_has_ended_then_statuses_are_copied_until_the_rules_have_ended(folder, copies):
    """Rules may take long for the last steps."""
    SmallTrial(folder / "debug-output").end()
    mirror = JobMirror(str(folder), "s3://b/job", 0.01)
    mirror.start()
    for number in range(3):
        put(folder, "self-managed/status.json", str(number).encode())
        copies["self-managed"].wait_for("status.json", str(number).encode())
        assert has_ended(copies["debug-output"])
    mirror.join()


def test_mirror_when_the_rules_have_ended_then_goes_on_until_the_trial_has(folder, copies):
    """Steps come after the last rule."""
    mirror = JobMirror(str(folder), "s3://b/job", 0.01)
    mirror.start()
    joining = threading.Thread(target=mirror.join)
    joining.start()
    put(folder, "self-managed/status.json", b"2")
    copies["self-managed"].wait_for("status.json", b"2")
    SmallTrial(folder / "debug-output").end()
    joining.join(30)
    assert not joining.is_alive()
    assert has_ended(copies["debug-output"])


def test_mirror_when_it_hears_that_training_has_ended_then_looks_at_once(folder, copies):
    """Also after the last rule has ended."""
    mirror = JobMirror(str(folder), "s3://b/job", LONG)
    mirror.start()
    copies["self-managed"].wait_for("status.json", b"1")
    joining = threading.Thread(target=mirror.join, daemon=True)
    joining.start()
    SmallTrial(folder / "debug-output").end()
    mirror.hurry()
    joining.join(60)
    assert not joining.is_alive()
    assert has_ended(copies["debug-output"])


def test_mirror_when_all_has_ended_then_does_not_wait_for_its_next_look(folder, copies):
    """The watcher ends at once."""
    mirror = JobMirror(str(folder), "s3://b/job", LONG)
    mirror.start()
    copies["self-managed"].wait_for("status.json", b"1")
    SmallTrial(folder / "debug-output").end()
    mirror.join()
    assert has_ended(copies["debug-output"])
