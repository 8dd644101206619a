"""Locks by which processes elect one of them."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from sagemaker_debug_ext.profiler.sampler.election import exclusive_lock

FORK = multiprocessing.get_context("fork")


def take_turns(path, counter, num_turns):
    """Add to a counter in a file, which only one process at a time may do."""
    for _ in range(num_turns):
        with exclusive_lock(path, lambda: time.sleep(0.0005) is not None) as is_held:
            assert is_held
            with open(counter) as file:
                number = int(file.read())
            time.sleep(0.0002)
            with open(counter, "w") as file:
                file.write(str(number + 1))


def test_lock_when_released_then_leaves_no_file(tmp_path):
    """A machine that trains for years does not fill with lock files."""
    path = str(tmp_path / "lock")
    with exclusive_lock(path, pytest.fail) as is_held:
        assert is_held
        assert os.path.exists(path)
    assert os.listdir(tmp_path) == []


def test_lock_when_many_processes_take_turns_then_one_at_a_time_has_it(tmp_path):
    """A lock file that goes away between opening and locking it elects nobody twice."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    arguments = (str(tmp_path / "lock"), str(counter), 50)
    processes = [FORK.Process(target=take_turns, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert counter.read_text() == "200"
    assert os.listdir(tmp_path) == ["counter"]


def test_lock_when_waiting_is_given_up_then_tells_so(tmp_path):
    """A process that ends before it was elected."""
    path = str(tmp_path / "lock")
    ready, done = FORK.Event(), FORK.Event()

    def hold():
        with exclusive_lock(path, lambda: False):
            ready.set()
            done.wait(60)

    holder = FORK.Process(target=hold)
    holder.start()
    assert ready.wait(60)
    with exclusive_lock(path, lambda: True) as is_held:
        assert not is_held
    assert os.path.exists(path)
    done.set()
    holder.join(60)
    assert not os.path.exists(path)
