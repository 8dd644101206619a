"""One worker's part of a trial: who may write, and how it ends whatever has happened before."""

from __future__ import annotations

import errno
import json
import os
import threading

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.hooks.output.tensorboard import TensorBoardOutput
from sagemaker_debug_ext.hooks.output.trial_output import TrialOutput, Worker
from sagemaker_debug_ext.store import claims, job_end
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format import keys, manifest
from sagemaker_debug_ext.vocabulary import ModeKeys

ALONE = Worker("worker_0", 1)
COLLECTIONS = [{"name": "losses"}]


class FillingBackend(LocalBackend):
    """A folder that can be said to be full, and notes what is written."""

    is_full = False

    def __init__(self, folder):
        super().__init__(folder)
        self.written = []

    def write(self, key, parts):
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.written.append(key)
        super().write(key, parts)


class Lent(PooledValue):
    """A value in memory that is used again, and so has to be given back."""

    def __init__(self, number):
        self._array = np.full(100, number, np.float32)
        self.nbytes = self._array.nbytes
        self.shape = self._array.shape
        self.is_back = False

    def to_array(self):
        assert not self.is_back
        return self._array

    def release(self):
        self.is_back = True


@pytest.fixture
def failures():
    return []


@pytest.fixture
def backend(tmp_path):
    return FillingBackend(tmp_path)


@pytest.fixture
def make_output(backend, failures):
    """Make outputs, which give their claims back at the end of the test."""
    made = []

    def make(where=backend, worker=ALONE, num_writers=1, **arguments):
        output = TrialOutput(where, worker, num_writers, 1 << 20, failures.append, **arguments)
        made.append(output)
        return output

    yield make
    backend.is_full = False
    for output in made:
        output.close(mark_end=False)


def step(number):
    return StepBuffer(StepPosition(number, ModeKeys.TRAIN, number), tensors={"loss": Captured(np.float32(number), 0.0)})


def test_output_when_folder_is_claimed_then_refuses_and_leaves_the_claim(make_output, backend):
    """Of two that write to one folder the second is told; it takes nothing from the first."""
    make_output()
    with pytest.raises(SMDebugRuntimeError, match="must belong to one hook, and another one of this process"):
        make_output(LocalBackend(backend.root))
    assert backend.exists(keys.CLAIM_KEY)


def test_output_when_another_process_has_the_folder_then_tells_how_to_free_it(make_output, backend):
    """The claim may be left over in a way that cannot be told, and then a person removes it."""
    backend.write(keys.CLAIM_KEY, (json.dumps(claims._identity(os.getppid())).encode(),))
    with pytest.raises(SMDebugRuntimeError, match=r"must belong to one process, .* remove claim\.smd"):
        make_output()


@pytest.mark.parametrize("where", ["memory", "peers"])
def test_output_when_there_is_no_folder_of_its_own_then_claims_nothing(make_output, backend, where):
    """Workers with peers have parts of their own, and other back ends know no claims."""
    if where == "memory":
        place = MemoryBackend()
        make_output(place)
    else:
        place = backend
        make_output(worker=Worker("worker_1", 2), num_writers=2)
    assert not place.exists(keys.CLAIM_KEY)


def test_close_when_all_is_well_then_trial_is_whole_ended_and_free(make_output, backend, failures):
    """What waits is written before the end is marked; the claim is given back."""
    output = make_output()
    output.write_collections(COLLECTIONS)
    assert output.write_step(step(0), np.asarray)
    output.close(mark_end=True)
    assert failures == []
    assert backend.written.count(keys.collections_key("worker_0")) == 1
    assert [info.key for info in backend.list()] == sorted(
        [keys.collections_key("worker_0"), keys.event_key(0, "worker_0"), keys.index_key(0, "worker_0"), keys.END_KEY]
    )


def test_close_when_the_platform_marks_the_end_then_only_gives_the_claim_back(make_output, backend):
    """Inside a job the end is none of the hook's business."""
    output = make_output()
    output.close(mark_end=False)
    assert not job_end.has_ended(backend)
    assert not backend.exists(keys.CLAIM_KEY)


def test_close_when_the_end_is_marked_already_then_leaves_the_marker_alone(make_output, backend):
    """Whoever comes later replaces nothing."""
    output = make_output()
    backend.write(keys.END_KEY, (b"by another",))
    output.close(mark_end=True)
    assert backend.read(keys.END_KEY) == b"by another"


def test_close_when_writing_has_failed_then_collections_and_end_are_written_all_the_same(
    make_output, backend, failures
):
    """Once there is room again, a reader learns of what was written before, and that nothing follows."""
    output = make_output()
    output.write_step(step(0), np.asarray)
    output.flush()
    backend.is_full = True
    output.write_step(step(1), np.asarray)
    output.write_collections(COLLECTIONS)
    output.flush()
    assert [failure.errno for failure in failures] == [errno.ENOSPC]
    backend.is_full = False
    output.close(mark_end=True)
    assert list(manifest.list_collections(backend)) == ["worker_0"]
    assert job_end.has_ended(backend)
    assert not backend.exists(keys.index_key(1, "worker_0"))


def test_close_when_disk_stays_full_then_end_is_marked_and_claim_given_back(make_output, backend):
    """An empty marker needs no room: nobody waits for more, and the folder is not locked; the failure is told."""
    output = make_output()
    backend.is_full = True
    output.write_collections(COLLECTIONS)
    with pytest.raises(OSError, match="No space"):
        output.close(mark_end=True)
    assert job_end.has_ended(backend)
    assert not backend.exists(keys.CLAIM_KEY)


def test_close_when_peers_still_write_then_the_last_one_marks_the_end(make_output, backend):
    """A worker that is done early ends nothing."""
    first = make_output(worker=Worker("worker_0", 2), num_writers=2)
    second = make_output(worker=Worker("worker_1", 2), num_writers=2)
    first.close(mark_end=True)
    assert not job_end.has_ended(backend)
    second.close(mark_end=True)
    assert job_end.has_ended(backend)


def test_output_when_its_worker_had_ended_before_then_counts_as_one_that_writes(make_output, backend):
    """A job that starts again in the folder of one that was killed waits for both its workers once more."""
    make_output(worker=Worker("worker_0", 2), num_writers=2).close(mark_end=True)
    again = [make_output(worker=Worker(f"worker_{rank}", 2), num_writers=2) for rank in range(2)]
    again[1].close(mark_end=True)
    assert not job_end.has_ended(backend)
    again[0].close(mark_end=True)
    assert job_end.has_ended(backend)


def borrowing_step(number):
    value = Lent(number)
    return StepBuffer(StepPosition(number, ModeKeys.TRAIN, number), tensors={"loss": Captured(value, 0.0)}), value


def to_array(value):
    return value.to_array() if isinstance(value, PooledValue) else value


def test_write_step_when_memory_is_borrowed_then_is_given_back_once_written(make_output):
    """The next step may use it."""
    output = make_output()
    lending, value = borrowing_step(0)
    output.write_step(lending, to_array)
    output.flush()
    assert value.is_back


def test_write_step_when_step_waits_in_a_file_then_memory_is_given_back_at_once(make_output, backend):
    """What lies in the file needs no memory, and is written in its turn."""
    output = make_output(spill_limit_bytes=1 << 20)
    gate = threading.Event()
    output._background.submit(gate.wait, 1 << 20)  # as if a step as large as the memory were being written
    try:
        lending, value = borrowing_step(0)
        assert output.write_step(lending, to_array)
        assert value.is_back
        assert not backend.exists(keys.index_key(0, "worker_0"))
    finally:
        gate.set()
    output.flush()
    assert backend.exists(keys.index_key(0, "worker_0"))


def test_output_when_tensorboard_is_on_then_it_shows_numbers_of_the_script(make_output):
    """A number of the script is a curve; other tensors are shown only if capture has asked for it."""
    shown = MemoryBackend()
    output = make_output(tensorboard=TensorBoardOutput(shown))
    tensors = {"scalar/lr": np.float32(0.5), "scalar/several": np.zeros(2, np.float32), "weight": np.float32(1)}
    captured = {name: Captured(value, 0.0) for name, value in tensors.items()}
    assert output.write_step(StepBuffer(StepPosition(0, ModeKeys.TRAIN, 0), tensors=captured), np.asarray)
    output.close(mark_end=True)
    (file,) = shown.list()
    content = shown.read(file.key)
    assert b"scalar/lr" in content
    assert b"several" not in content
    assert b"weight" not in content
