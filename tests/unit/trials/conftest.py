"""Jobs that write trials into memory, and a clock that only sleeping moves."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.format.messages import to_array
from sagemaker_debug_ext.store.writer import NamedShape, NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import Polling, Trial
from sagemaker_debug_ext.vocabulary import ModeKeys

LOSS = {"loss": np.float32(0.5)}


class Job:
    """A job of several workers that writes a trial."""

    def __init__(self, backend=None, num_workers=1, collections=(("losses", "loss"),)):
        self.backend = MemoryBackend() if backend is None else backend
        self.workers = [f"worker_{rank}" for rank in range(num_workers)]
        self.collections = [Collection(name, [pattern]).to_json_dict() for name, pattern in collections]
        self.writers = {worker: TrialWriter(self.backend, worker) for worker in self.workers}

    def write_collections(self, *workers):
        for worker in workers or self.workers:
            self.writers[worker].write_collections(self.collections, len(self.workers))
        return self

    def write(self, step, tensors=LOSS, *, mode=ModeKeys.TRAIN, mode_step=None, workers=None, shapes=()):
        named = [NamedTensor(name, to_array(value), 0.0) for name, value in tensors.items()]
        named_shapes = [NamedShape(name, shape, f"framework/{name}") for name, shape in dict(shapes).items()]
        for worker in self.workers if workers is None else workers:
            self.writers[worker].write_step(
                StepData(step, mode, step if mode_step is None else mode_step, named, named_shapes)
            )
        return self

    def end(self):
        next(iter(self.writers.values())).end()
        return self


class Clock:
    """A clock that only sleeping moves; what was planned for a time happens while sleeping past it."""

    def __init__(self):
        self.now = 0.0
        self.plan = []

    def at(self, seconds, happens):
        self.plan.append((seconds, happens))
        self.plan.sort(key=lambda item: item[0])

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds
        while self.plan and self.plan[0][0] <= self.now:
            self.plan.pop(0)[1]()

    def polling(self, poll_seconds=1.0):
        return Polling(poll_seconds=poll_seconds, clock=lambda: self.now, sleep=self.sleep)


class CountingBackend(MemoryBackend):
    """Counts what is asked of it."""

    def __init__(self):
        super().__init__()
        self.lists, self.reads = [], []

    def list(self, prefix=""):
        self.lists.append(prefix)
        return super().list(prefix)

    def read(self, key, start=0, length=None):
        self.reads.append(key)
        return super().read(key, start, length)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def new_job():
    return Job


@pytest.fixture
def counting_backend():
    return CountingBackend()


@pytest.fixture
def open_trial(clock):
    """Return a function that opens what a job has written so far."""

    def open_one(job, **options):
        return Trial("trial", job.backend, polling=clock.polling(), **options)

    return open_one
