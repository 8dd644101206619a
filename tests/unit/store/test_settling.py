"""Trials whose files are copied in any order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.job_end import has_ended, write_end
from sagemaker_debug_ext.store.settling import DELAY_SECONDS, SETTLE_SECONDS, SettlingBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import Trial
from sagemaker_debug_ext.vocabulary import ModeKeys

NUM_STEPS = 12
WORKERS = ("worker_0", "worker_1")


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def written():
    """A whole trial of two workers, whose gradients vanish from step 7 on."""
    backend = MemoryBackend()
    for worker in WORKERS:
        writer = TrialWriter(backend, worker)
        writer.write_collections([{"name": "gradients", "tensor_names": ["gradient/w"]}], len(WORKERS))
        for step in range(NUM_STEPS):
            value = np.full(4, 1e-12 if step >= 7 else 1.0, np.float32)
            writer.write_step(StepData(step, ModeKeys.TRAIN, step, [NamedTensor("gradient/w", value, 0)]))
    write_end(backend)
    return backend


def judged(trial, **options):
    rule = create_rule("VanishingGradient", trial, {})
    return [issue.step for issue in evaluate([rule], trial, **options)]


@pytest.mark.parametrize("seed", range(5))
def test_rules_when_files_arrive_in_any_order_then_find_the_same(written, seed):
    """Each file comes some seconds after another, steps and workers mixed, and the end marker first of all."""
    expected = judged(Trial("whole", written, wait_seconds=0))
    assert expected[0] == 7
    rng = random.Random(seed)
    keys = [info.key for info in written.list()]
    late = [key for key in keys if not key.startswith("collections")]
    late.sort(
        key=lambda key: (int(key.split("/")[-1][:12]) if key[:5] in ("event", "index") else -1) + rng.uniform(0, 8)
    )
    copy, clock = MemoryBackend(), Clock()
    for key in keys:
        if key.startswith("collections"):
            copy.write(key, [written.read(key)])
    backend = SettlingBackend(copy, clock=clock)

    def arrive(_seconds: float) -> None:
        clock.now += 1.0 if late else SETTLE_SECONDS / 4
        if late:
            key = late.pop(0)
            copy.write(key, [written.read(key)])

    assert judged(Trial("copied", backend, wait_seconds=0), sleep=arrive) == expected
    assert not late


def test_end_marker_when_it_comes_first_then_counts_once_nothing_changes(written):
    """Or at once, if whoever copies says that the copy is complete."""
    copy, clock = MemoryBackend(), Clock()
    write_end(copy)
    backend = SettlingBackend(copy, clock=clock)
    assert not has_ended(backend)
    clock.now = SETTLE_SECONDS - 1
    copy.write("events/x", [b""])
    assert not has_ended(backend)
    clock.now += SETTLE_SECONDS - 1
    assert not has_ended(backend)
    clock.now += 1
    assert has_ended(backend)
    finished = SettlingBackend(copy, clock=clock)
    finished.finish()
    assert has_ended(finished)
    assert not has_ended(SettlingBackend(MemoryBackend(), clock=clock))


def test_index_file_when_its_event_file_is_missing_then_is_not_reported(written):
    """However old it is."""
    copy, clock = MemoryBackend(), Clock()
    watch = SettlingBackend(copy, clock=clock).watch("index/")
    index, event = (written.list(prefix)[0].key for prefix in ("index/", "events/"))
    copy.write(index, [written.read(index)])
    assert watch.look().objects == []
    clock.now += 10 * DELAY_SECONDS
    assert watch.look_at_all().objects == []
    copy.write(event, [written.read(event)])
    assert [info.key for info in watch.look().objects] == [index]
    assert watch.look().objects == []


def test_index_files_when_the_copy_becomes_complete_during_a_look_then_wait_for_the_next_one(written, monkeypatch):
    """Files that the look has missed may be of earlier steps, and are shown with the others."""
    copy = MemoryBackend()
    backend = SettlingBackend(copy, clock=Clock())
    watch = backend.watch("index/")
    first, second = (info.key for info in written.list("index/")[:2])
    copy.write(second, [written.read(second)])
    look = watch._inner.look

    def look_slowly(settled: str = "") -> object:
        changes = look(settled)
        copy.write(first, [written.read(first)])
        backend.finish()
        return changes

    with monkeypatch.context() as during:
        during.setattr(watch._inner, "look", look_slowly)
        assert watch.look().objects == []
    assert [info.key for info in watch.look().objects] == [first, second]
