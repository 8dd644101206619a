"""The watcher's process never harms training."""

import os
import subprocess
import time

import pytest

from sagemaker_debug_ext.config.job_spec import WatchOptions
from sagemaker_debug_ext.hooks.process import watcher
from sagemaker_debug_ext.hooks.process.watcher import WATCHER_VARIABLE, WatcherProcess


@pytest.fixture
def process():
    process = WatcherProcess()
    process.configure(WatchOptions(drain_seconds=30))
    return process


@pytest.mark.parametrize("error", [OSError("too many processes"), MemoryError("no memory")])
def test_start_when_no_process_can_be_made_then_training_goes_on(process, monkeypatch, caplog, error):
    """One line says that no rule is evaluated."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "Popen", fail)
    process.start()
    process.drain()
    assert "no rule is evaluated" in caplog.text


@pytest.mark.parametrize("is_watched", [False, True])
def test_start_when_no_rules_or_in_a_watcher_then_starts_nothing(process, monkeypatch, is_watched):
    """A hook in a custom rule must not start another watcher."""
    monkeypatch.setattr(subprocess, "Popen", None)
    if is_watched:
        monkeypatch.setenv(WATCHER_VARIABLE, "1")
    else:
        process.configure(None)
    process.start()
    process.drain()


def test_request_when_the_watcher_writes_one_then_training_should_stop(process, monkeypatch, caplog):
    """The rule is named in the log; a watcher that fails is, too."""
    monkeypatch.setattr(watcher, "_PROGRAM", "import os, sys; os.write(int(sys.argv[4]), b'Overfit\\n'); sys.exit(3)")
    process.start()
    process.drain()
    deadline = time.monotonic() + 60
    while not process.should_stop and time.monotonic() < deadline:
        time.sleep(0.01)  # until the thread that reads has read
    assert process.should_stop
    assert "rule Overfit asks to stop training" in caplog.text
    assert "exit code 3" in caplog.text


def test_drain_when_the_watcher_is_slow_then_gives_up_after_its_limit(process, monkeypatch, caplog):
    """The process goes on by itself."""
    monkeypatch.setattr(watcher, "_PROGRAM", "import sys; sys.stdin.close(); import time; time.sleep(30)")
    process.start()
    process.drain(0.1)
    own, given = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, process._process.pid))
    assert given == min(own + 10, 19)  # training goes first from the start, not only once the watcher is ready
    assert "still being evaluated after 0.1 seconds" in caplog.text
    process._process.kill()
    process._process.wait()


def test_environment_of_the_watcher_has_no_devices_and_few_threads():
    """Training keeps its GPUs and cores."""
    environment = watcher._environment(2)
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert environment["OMP_NUM_THREADS"] == "2"
    assert environment[WATCHER_VARIABLE] == "1"
