"""The lease: one watcher at a time, whatever the clocks say."""

import threading

import pytest

from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.watch.lease import EXPIRY_SECONDS, Lease


class Clock:
    """A clock that sleeping moves on; `during` is called in each sleep."""

    def __init__(self, during=lambda: None):
        self.now = 0.0
        self.during = during

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.during()


def lease(backend, clock=None):
    clock = clock or Clock()
    return Lease(backend, "container", clock, clock.sleep)


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_lease_when_twelve_race_then_one_wins(kind, tmp_path):
    """Creation is exclusive in folders, in memory and on S3."""
    backend = MemoryBackend() if kind == "memory" else LocalBackend(tmp_path)
    start = threading.Barrier(12)
    won = []

    def race():
        contender = lease(backend)
        start.wait()
        if contender.acquire(wait=False):
            won.append(contender.generation)

    threads = [threading.Thread(target=race) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [1]


def test_lease_when_it_is_renewed_then_nobody_takes_over():
    """A renewal during the wait shows that the holder lives."""
    backend = MemoryBackend()
    holder = lease(backend)
    assert holder.acquire()
    contender = lease(backend, Clock(during=holder.renew))
    assert not contender.acquire()
    assert holder.is_held()


def test_lease_when_it_is_silent_for_the_expiry_time_then_is_taken_over():
    """The first holder notices, renews nothing and releases nothing."""
    backend = MemoryBackend()
    holder = lease(backend)
    holder.acquire()
    clock = Clock()
    contender = lease(backend, clock)
    assert contender.acquire()
    assert clock.now >= EXPIRY_SECONDS
    assert contender.generation == 2
    assert not holder.is_held()
    assert not holder.renew()
    holder.release()
    assert not lease(backend).acquire(wait=False)


def test_lease_when_it_is_released_then_the_next_acquires_at_once():
    """A job that restarts does not wait."""
    backend = MemoryBackend()
    first = lease(backend)
    first.acquire()
    first.release()
    second = lease(backend)
    assert second.acquire(wait=False)
    assert second.generation == 2


def test_lease_when_it_is_damaged_then_expires():
    """Nobody knows whether its holder lives."""
    backend = MemoryBackend()
    backend.create("lease/000001.json")
    assert not lease(backend).acquire(wait=False)
    assert lease(backend).acquire()


def test_lease_when_two_wait_for_it_then_one_takes_over():
    """The slower contender sees the new generation."""
    backend = MemoryBackend()
    lease(backend).acquire()
    others = []

    def take_over_first():
        if not others:
            others.append(lease(backend))
            others[0].acquire()

    assert not lease(backend, Clock(during=take_over_first)).acquire()
    assert others[0].generation == 2


def test_lease_when_its_holder_is_known_to_be_dead_then_is_taken_over_at_once():
    """Only that process of this host; the lease of another one is waited for."""
    backend = MemoryBackend()
    holder = lease(backend)
    assert holder.acquire()
    clock = Clock()
    assert not Lease(backend, "container", clock, clock.sleep, replaced_pid=holder.holder["pid"] + 1).acquire(False)
    successor = Lease(backend, "container", clock, clock.sleep, replaced_pid=holder.holder["pid"])
    assert successor.acquire()
    assert (successor.generation, clock.now) == (2, 0.0)
