"""Steps that are found in what training loops do."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.profiler.timeline.step_timer import BACKWARD, CHECKPOINT, EVAL, FORWARD, OPTIMIZER, StepTimer

MILLISECOND = 1_000_000
TRAIN = "Step:ModeKeys.TRAIN"
WAIT = "DataLoaderIter"


class Loop:
    """A training loop whose parts take whole milliseconds by its own clock."""

    def __init__(self):
        self.now = 0
        self.events = []
        self.timer = StepTimer(self._add_all, lambda: self.now)
        self.optimizer = object()

    def _add(self, phase, name, start, end, arguments):
        step = arguments.get("step_num")
        self.events.append((phase, start // MILLISECOND, end // MILLISECOND, None if step is None else int(step)))

    def _add_all(self, events, *arguments):
        for event in events(*arguments):
            self._add(*event)

    def passes(self, milliseconds):
        self.now += milliseconds * MILLISECOND

    def fetch(self, loader="loader", wait=2):
        start = self.timer.batch_requested(loader)
        self.passes(wait)
        self.timer.batch_arrived(loader, start, WAIT, "next", {})

    def exhaust(self, loader="loader"):
        self.timer.batch_requested(loader)
        self.timer.loader_exhausted()

    def backward(self, milliseconds=4):
        self.timer.backward_begins()
        self.passes(milliseconds)
        self.timer.backward_ends()

    def update(self, optimizer=None, milliseconds=1):
        self.timer.update_begins(optimizer or self.optimizer)
        self.passes(milliseconds)
        self.timer.update_ends("SGD")

    def train(self, forward=3):
        self.passes(forward)
        self.backward()
        self.update()

    def of(self, *phases):
        return [event for event in self.events if event[0] in phases]


@pytest.fixture
def loop():
    return Loop()


def test_step_when_a_loader_gives_batches_then_is_from_arrival_to_the_next_request(loop):
    """The wait for a batch is between steps, and forward, backward and update are parts of them."""
    for _ in range(2):
        loop.fetch()
        loop.train()
    loop.exhaust()
    assert loop.of(TRAIN) == [(TRAIN, 2, 10, 0), (TRAIN, 12, 20, 1)]
    assert loop.of(WAIT) == [(WAIT, 0, 2, None), (WAIT, 10, 12, None)]
    assert loop.of(FORWARD, BACKWARD, OPTIMIZER)[:3] == [(FORWARD, 2, 5, 0), (BACKWARD, 5, 9, 0), (OPTIMIZER, 9, 10, 0)]


def test_step_when_no_gradients_are_computed_then_is_of_evaluation(loop):
    """Steps of evaluation have numbers of their own."""
    loop.fetch()
    loop.train()
    loop.exhaust()
    for _ in range(2):
        loop.fetch("other")
        loop.passes(3)
    loop.exhaust("other")
    assert [event[3] for event in loop.of(EVAL)] == [0, 1]
    assert len(loop.of(TRAIN)) == 1


def test_step_when_there_is_no_loader_then_ends_with_the_last_update_before_the_next_one(loop):
    """Two optimizers that take turns make one step."""
    generator, discriminator = object(), object()
    for _ in range(3):
        loop.backward(4)
        loop.update(discriminator)
        loop.backward(2)
        loop.update(generator)
    loop.timer.finish()
    assert [(start, end) for _, start, end, _ in loop.of(TRAIN)] == [(0, 8), (8, 16), (16, 24)]
    assert [event[3] for event in loop.of(BACKWARD)] == [0, 0, 1, 1, 2, 2]


def test_step_when_gradients_accumulate_then_each_batch_is_one(loop):
    """A batch without an update is a step of training."""
    for updates in (False, True):
        loop.fetch()
        loop.passes(3)
        loop.backward()
        if updates:
            loop.update()
    loop.exhaust()
    assert len(loop.of(TRAIN)) == 2
    assert len(loop.of(OPTIMIZER)) == 1


def test_step_when_a_batch_is_fetched_ahead_then_the_last_one_counts_too(loop):
    """Transformers and Accelerate ask for a batch before they hand on the one before."""
    loop.fetch()
    loop.fetch()
    loop.train()
    loop.exhaust()
    loop.train()
    loop.timer.finish()
    assert [event[3] for event in loop.of(TRAIN)] == [0, 1]
    assert not loop.of(EVAL)
    assert loop.of(FORWARD)[1][2] - loop.of(FORWARD)[1][1] == 3


def test_batch_when_it_is_only_looked_at_then_makes_no_step(loop):
    """``next(iter(loader))`` before training is no evaluation that lasts until training begins."""
    loop.fetch("first")
    loop.passes(5000)
    loop.fetch("second")
    loop.train()
    loop.exhaust("second")
    assert not loop.of(EVAL)
    assert len(loop.of(TRAIN)) == 1


def test_checkpoint_when_it_follows_an_update_then_is_no_part_of_the_step(loop):
    """What a step takes does not depend on whether it is saved."""
    loop.fetch()
    loop.train()
    start = loop.now
    loop.passes(100)
    loop.timer.checkpoint("torch.save", start)
    loop.fetch()
    loop.train()
    loop.exhaust()
    assert loop.of(TRAIN) == [(TRAIN, 2, 10, 0), (TRAIN, 112, 120, 1)]
    assert loop.of(CHECKPOINT) == [(CHECKPOINT, 10, 110, None)]


def test_step_when_the_process_ends_within_it_then_ends_with_its_last_part(loop):
    """The time until the end of the process is not training."""
    loop.fetch()
    loop.train()
    loop.passes(1000)
    loop.timer.finish()
    assert loop.of(TRAIN) == [(TRAIN, 2, 10, 0)]


def test_listener_when_steps_begin_and_end_then_hears_their_numbers(loop):
    """Numbers count on over all modes."""
    heard = []

    class Listener:
        def step_begins(self, step):
            heard.append(step)

        def step_ends(self, mode, number):
            heard.append((mode, number))

    loop.timer.listeners.append(Listener())
    for _ in range(3):
        loop.fetch()
        loop.train()
    loop.exhaust()
    assert heard == [0, ("train", 0), 1, ("train", 1), 2, ("train", 2)]


def test_parts_when_a_device_has_a_clock_then_are_told_with_their_marks(loop):
    """The update begins on the device where the backward pass ends."""
    told = []

    class Device:
        def mark(self):
            return loop.now // MILLISECOND

        def add(self, spans, arguments):
            told.append((spans, dict(arguments)))

        def facts(self, now):
            return {}

    loop.timer.device = Device()
    loop.fetch()
    loop.train()
    loop.exhaust()
    assert told == [([("forward", 2, 5), ("backward", 5, 9), ("optimizer", 9, 10)], {"step_num": "0"})]
