from __future__ import annotations

import contextlib
import functools
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.hooks.output import background
from sagemaker_debug_ext.hooks.output.background import BackgroundWriter


@pytest.fixture
def failures():
    return []


@pytest.fixture
def make(failures):
    def make_writer(limit=1000):
        return BackgroundWriter(limit, failures.append)

    return make_writer


def test_submit_when_jobs_follow_each_other_then_runs_them_in_order_elsewhere(make):
    """Jobs run in order, all on one thread that is not the caller's."""
    writer, done = make(), []
    for number in range(50):
        writer.submit(lambda number=number: done.append((number, threading.get_ident())))
    writer.close()
    assert [number for number, _ in done] == list(range(50))
    assert {thread for _, thread in done}.isdisjoint({threading.get_ident()})


def test_submit_when_limit_is_reached_then_waits_for_room(make):
    """The training thread waits rather than let the queue exceed its limit."""
    writer, gate, held = make(limit=100), threading.Event(), []
    writer.submit(gate.wait, 60)
    waiter = threading.Thread(target=lambda: (writer.submit(lambda: None, 60), held.append(writer.held_bytes)))
    waiter.start()
    waiter.join(timeout=0.05)
    assert waiter.is_alive()
    assert writer.held_bytes == 60
    gate.set()
    waiter.join()
    assert held[0] <= 60
    writer.close()


def test_submit_when_one_job_exceeds_the_limit_then_still_runs(make):
    """A step larger than the limit is written when nothing else waits."""
    writer, done = make(limit=10), []
    writer.submit(lambda: done.append("small"), 5)
    writer.submit(lambda: done.append("large"), 500)
    writer.close()
    assert done == ["small", "large"]


def test_submit_when_job_holds_no_memory_then_never_waits(make):
    """What holds nothing has room however much others hold."""
    writer, gate, done = make(limit=10), threading.Event(), []
    writer.submit(gate.wait, 500)
    submitter = threading.Thread(target=writer.submit, args=(lambda: done.append("small"),), daemon=True)
    submitter.start()
    submitter.join(timeout=60)
    assert not submitter.is_alive()
    gate.set()
    writer.close()
    assert done == ["small"]


def test_submit_when_a_job_fails_then_reports_once_and_drops_the_rest(make, failures):
    """After a failure nothing is run any more, and nobody waits for it."""
    writer, gate, done = make(limit=100), threading.Event(), []

    def fail():
        gate.wait()
        raise OSError("disk full")

    writer.submit(fail, 90)
    writer.submit(lambda: done.append("later"), 5)
    gate.set()
    writer.submit(lambda: done.append("much later"), 90)
    writer.submit(lambda: done.append("too late"), 90)
    writer.close()
    assert [str(failure) for failure in failures] == ["disk full"]
    assert done == []
    assert writer.held_bytes == 0


def test_flush_when_jobs_wait_then_returns_after_the_last(make):
    """After `flush` everything submitted before it is done."""
    writer, done = make(), []
    writer.submit(lambda: done.append(1))
    writer.flush()
    assert done == [1]
    writer.close()


def test_close_when_nothing_was_submitted_then_starts_no_thread(make):
    """A hook that saves nothing costs no thread."""
    before = threading.active_count()
    writer = make()
    writer.flush()
    writer.close()
    assert threading.active_count() == before


def test_close_when_done_then_leaves_no_thread(make):
    """The thread ends with the writer."""
    before = threading.active_count()
    writer = make()
    writer.submit(lambda: None)
    writer.close()
    assert threading.active_count() == before


def test_submit_when_no_thread_can_start_then_runs_the_job_here(make, monkeypatch):
    """At interpreter shutdown, when threads cannot start, the last step is written by the caller."""

    def refuse(_):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    writer, done = make(), []
    writer.submit(lambda: done.append(threading.get_ident()), 5)
    writer.close()
    assert done == [threading.get_ident()]
    assert writer.held_bytes == 0


@pytest.mark.parametrize("error", [RuntimeError("no threads"), MemoryError()])
def test_submit_when_a_thread_can_start_only_later_then_nothing_is_lost(make, monkeypatch, error):
    """The next job tries again, and the order is kept."""
    start, attempts = threading.Thread.start, []

    def start_second(thread):
        attempts.append(thread)
        if len(attempts) == 1:
            raise error
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_second)
    writer, done = make(), []
    for number in range(3):
        writer.submit(lambda number=number: done.append(number))
    writer.close()
    assert done == [0, 1, 2]
    assert len(attempts) == 2


@pytest.mark.parametrize("is_running", [False, True])
def test_submit_when_interrupted_while_the_thread_starts_then_one_thread_writes(make, monkeypatch, is_running):
    """Ctrl-C may come before or after the system has made the thread."""
    start, writers = threading.Thread.start, set()

    def interrupted(thread):
        monkeypatch.setattr(threading.Thread, "start", start)
        if is_running:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    writer, done = make(), []

    def job(number):
        writers.add(threading.get_ident())
        done.append(number)

    with pytest.raises(KeyboardInterrupt):
        writer.submit(lambda: job(0))
    for number in range(1, 20):
        writer.submit(lambda number=number: job(number))
    writer.close()
    assert done == list(range(20))
    assert len(writers) == 1


@pytest.mark.parametrize("error", [OSError("disk full"), SystemExit(), KeyboardInterrupt(), MemoryError()])
def test_close_when_reporting_the_failure_fails_too_then_ends_and_says_what_was_lost(error, caplog):
    """A logging handler of the script may raise; nobody waits for ever because of it."""

    def report(_):
        raise ValueError("a handler that fails")

    writer, gate = BackgroundWriter(100, report), threading.Event()

    def fail():
        gate.wait()
        raise error

    writer.submit(fail, 60)
    writer.submit(lambda: None, 30)
    waiter = threading.Thread(target=writer.submit, args=(lambda: None, 60), daemon=True)
    waiter.start()
    gate.set()
    waiter.join(timeout=60)
    assert not waiter.is_alive()
    assert writer.submit(lambda: None, 60)
    closer = threading.Thread(target=writer.close, daemon=True)
    closer.start()
    closer.join(timeout=60)
    assert not closer.is_alive()
    assert "4 steps and other files were lost" in caplog.text


def test_flush_when_the_thread_has_died_then_runs_the_jobs_here(make):
    """However it ended: what waits is written by whoever waits."""
    writer, done = make(), []
    writer.submit(lambda: done.append(0))
    writer.flush()
    writer._closed = True  # ends the thread, as an end of the interpreter's would
    writer._wakeups.put(None)
    writer._thread.join()
    writer._start = lambda: None
    writer.submit(lambda: done.append(1))
    assert writer.flush(60)
    assert done == [0, 1]


def test_interruption_when_jobs_run_on_the_thread_of_the_script_then_reaches_it(make, monkeypatch):
    """Ctrl-C is the script's, also while it writes for want of a thread."""

    def refuse(_):
        raise RuntimeError("no threads")

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", refuse)
    writer = make()
    writer.submit(interrupt)
    with pytest.raises(KeyboardInterrupt):
        writer.flush()
    writer.close()


class Interruption:
    """Profile function that interrupts its thread at the n-th moment at which the interpreter looks for signals.

    It looks where a function begins and where a call has returned; those of the writer and of `threading` count.
    """

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, _):
        if event != "c_call" and frame.f_code.co_filename in (background.__file__, threading.__file__):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def ends(writer, done):
    """Submit one more job and close; return whether that ended."""
    end = threading.Thread(target=lambda: (writer.submit(lambda: done.append("last")), writer.close()), daemon=True)
    end.start()
    end.join(timeout=30)
    return not end.is_alive()


def test_submit_when_interrupted_anywhere_then_nobody_waits_for_ever(make):
    """No lock stays taken, whatever the script's thread was doing when Ctrl-C came."""
    number, is_interrupted = 0, True
    while is_interrupted:
        number += 1
        writer, done = make(limit=100), []
        interruption = Interruption(number)
        sys.setprofile(interruption)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                for step in range(3):
                    writer.submit(functools.partial(done.append, step), 60)
                writer.flush()
        finally:
            sys.setprofile(None)
        is_interrupted = interruption.left <= 0
        assert ends(writer, done)
        assert done in [[*range(num_submitted), "last"] for num_submitted in range(4)]
    assert number > 50


@settings(max_examples=25)
@given(st.lists(st.integers(0, 150), max_size=30), st.integers(1, 100))
def test_held_bytes_when_sizes_are_any_then_stay_within_limit_or_one_job(sizes, limit):
    """What is held never exceeds the limit, except by a single job that is larger."""
    seen = []
    writer = BackgroundWriter(limit, pytest.fail)
    for size in sizes:
        writer.submit(lambda: seen.append(writer.held_bytes), size)
    writer.close()
    assert len(seen) == len(sizes)
    assert all(held <= max(limit, *sizes) for held in seen)
