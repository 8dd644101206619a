"""Which processes save."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.hooks.worker_role import WorkerRole
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY
from sagemaker_debug_ext.vocabulary import ModeKeys


class Adapter(FrameworkAdapter):
    """A framework whose processes have these ranks, and may need each other."""

    def __init__(self, rank, size, joins=False, continues=True, others_last=-1):
        self.worker = Worker(f"worker_{rank}", size)
        self.joins = joins
        self.continues = continues
        self.others_last = others_last
        self.num_asked = 0

    def _find_worker(self):
        self.num_asked += 1
        return self.worker

    def _joins_collectives(self):
        return self.joins

    def _sync_last_steps(self, last_steps):
        return {ModeKeys.GLOBAL: max(last_steps.get(ModeKeys.GLOBAL, -1), self.others_last)}

    def _continues_counting(self):
        return self.continues


class Process:
    """A process of a job, with the parts of a hook that its role decides about."""

    def __init__(self, adapter, include_workers="one", backend=None, checkpoints=None):
        lock = threading.RLock()
        self.adapter = adapter
        self.lifecycle = HookLifecycle("out", lock, lambda: False, lambda: None)
        self.steps = StepTracker(lambda: None, lambda step: None, lock, 0)
        collections = CollectionSet(Collection, {"losses": ("loss",)}, saved=["losses"])
        self.dispatcher = StepDispatcher(
            backend or MemoryBackend(), HookOptions(), collections, np.asarray, lock, checkpoints=checkpoints
        )
        self.failures = []
        self.chiefs = []
        self.role = WorkerRole(
            adapter,
            include_workers,
            self.lifecycle,
            self.steps,
            self.dispatcher,
            self.failures.append,
            lambda: self.chiefs.append(adapter),
        )

    def write_steps(self, last):
        """Write steps up to one, and end as a killed run does: without the mark."""
        self.role.takes_part()
        for number in range(last + 1):
            values = {"loss": Captured(np.float32(number), 0.0)}
            self.dispatcher.submit(StepBuffer(StepPosition(number, ModeKeys.GLOBAL, number), values))
        self.dispatcher.finish(mark_end=False)


@pytest.fixture
def make_process():
    """Return a function that makes processes, whose outputs are closed at the end of the test."""
    made = []

    def make(*args, **kwargs):
        made.append(Process(*args, **kwargs))
        return made[-1]

    yield make
    for process in made:
        process.dispatcher.finish(mark_end=False)


@pytest.mark.parametrize(
    ("rank", "include_workers", "joins", "expected"),
    [
        pytest.param(0, "one", False, "writes", id="the first"),
        pytest.param(0, "all", False, "writes", id="the first of all"),
        pytest.param(2, "all", True, "writes", id="another of all"),
        pytest.param(2, "one", False, "is off", id="another"),
        pytest.param(2, "one", True, "helps", id="another that is needed"),
    ],
)
def test_takes_part_when_first_asked_then_role_follows_rank_and_setting(
    make_process, rank, include_workers, joins, expected
):
    """Only processes that save open an output; those that are not needed are switched off."""
    process = make_process(Adapter(rank, 4, joins), include_workers)
    found = {
        "takes part": process.role.takes_part(),
        "writes": process.dispatcher.output is not None,
        "helps": process.role.is_helper,
        "is off": process.lifecycle.is_off,
    }
    assert found == {
        "takes part": expected != "is off",
        "writes": expected == "writes",
        "helps": expected == "helps",
        "is off": expected == "is off",
    }
    process.role.takes_part()
    assert len(process.chiefs) == (rank == 0)


@pytest.mark.parametrize(("rank", "joins"), [(0, False), (1, False), (1, True)])
def test_takes_part_when_asked_again_then_answer_is_the_same_and_rank_is_not_looked_up(make_process, rank, joins):
    """Ranks are looked up once, because frameworks may have to talk to each other for it."""
    process = make_process(Adapter(rank, 2, joins))
    assert process.role.takes_part() == process.role.takes_part()
    assert process.adapter.num_asked == 1


def test_takes_part_when_hook_is_switched_off_then_false_and_nothing_is_opened(make_process):
    """A hook that has failed before its first step does not begin to write."""
    process = make_process(Adapter(0, 1))
    process.lifecycle.is_off = True
    assert not process.role.takes_part()
    assert process.adapter.num_asked == 0
    assert process.dispatcher.output is None


def test_takes_part_when_another_process_has_claimed_the_folder_then_error(make_process, tmp_path):
    """Two processes that both think they are the first do not mix their steps."""
    backend = LocalBackend(tmp_path)
    backend.write(CLAIM_KEY, (b"a writer of another kind",))
    process = make_process(Adapter(0, 1), backend=backend)
    with pytest.raises(SMDebugRuntimeError, match="out_dir must belong to one process, and another one writes"):
        process.role.takes_part()
    assert process.dispatcher.output is None


@pytest.mark.parametrize(
    ("adapter", "expected"),
    [
        pytest.param(Adapter(0, 1), 3, id="own steps"),
        pytest.param(Adapter(0, 1, others_last=7), 8, id="more steps of another process"),
        pytest.param(Adapter(0, 1, continues=False), 0, id="a framework with a count of its own"),
    ],
)
def test_takes_part_when_folder_holds_steps_then_counting_goes_on_after_them(make_process, adapter, expected, caplog):
    """Steps of a run that was killed stay, and keep their numbers."""
    backend = MemoryBackend()
    make_process(Adapter(0, 1), backend=backend).write_steps(last=2)
    process = make_process(adapter, backend=backend)
    process.role.takes_part()
    assert process.steps.begin().position.global_step == expected
    assert ("counting goes on" in caplog.text) == (expected > 0)
    assert process.role.is_only_writer == (expected == 0)


@pytest.mark.parametrize(
    ("size", "include_workers", "expected"), [(1, "all", True), (4, "one", True), (4, "all", False)]
)
def test_is_only_writer_when_others_write_then_false(make_process, size, include_workers, expected):
    """An empty trial of one writer is worth a warning; others may have saved what this one did not."""
    process = make_process(Adapter(0, size), include_workers)
    process.role.takes_part()
    assert process.role.is_only_writer == expected


@pytest.mark.parametrize(
    ("rank", "include_workers", "expected"), [(0, "all", True), (1, "all", False), (1, "one", False)]
)
def test_takes_part_when_not_the_first_then_state_of_checkpoints_is_left_to_it(
    make_process, tmp_path, rank, include_workers, expected
):
    """The workers of a job share one state file."""
    checkpoints = CheckpointState(tmp_path)
    process = make_process(Adapter(rank, 2), include_workers, checkpoints=checkpoints)
    process.role.takes_part()
    assert (process.dispatcher.checkpoints is checkpoints) == expected
