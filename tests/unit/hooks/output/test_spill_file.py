"""Steps that wait in a file come back whole, in order, and within the limit."""

from __future__ import annotations

import os
import tempfile
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, ReducedValues, StepBuffer, SummarySpec
from sagemaker_debug_ext.hooks.output import spill_file
from sagemaker_debug_ext.hooks.output.spill_file import SpillFile, pack, unpack
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.vocabulary import ModeKeys


@given(st.lists(st.one_of(st.binary(min_size=1, max_size=40), st.none()), max_size=60), st.integers(1, 100))
def test_put_when_taken_back_in_order_then_everything_is_as_it_was(actions, limit):
    """Whatever is put and taken in turns: contents come back, and the file stays within its limit."""
    file, waiting = SpillFile(limit), []
    for action in actions:
        if action is not None:
            take_back = file.put([action[:3], action[3:]])
            if take_back is None:
                assert waiting or len(action) > limit, "an empty file has room for what is within the limit"
            else:
                waiting.append((take_back, action))
        elif waiting:
            take_back, content = waiting.pop(0)
            assert take_back() == content
        if file._descriptor is not None:
            assert os.fstat(file._descriptor).st_size <= limit
    for take_back, content in waiting:
        assert take_back() == content
    file.close()


def test_close_when_something_waits_then_file_is_gone(tmp_path, monkeypatch):
    """The file has no name, and its descriptor is given back."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = SpillFile(100)
    file.put([b"content"])
    descriptor = file._descriptor
    assert list(tmp_path.iterdir()) == []
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    file.close()


def test_unpack_when_packed_then_is_the_same_step():
    """Values of all kinds come back, and what belongs to the step with them."""
    arrays = {
        "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
        "scalar": np.array(2.5),
        "flags": np.array([True, False]),
        "complex": np.array([1 + 2j]),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "every other": np.arange(10)[::2],
        "texts": np.array(["ab", "c"]),
        "empty": np.zeros((0, 3)),
    }
    step = StepBuffer(
        StepPosition(7, ModeKeys.EVAL, 3),
        tensors={name: Captured(array, at) for at, (name, array) in enumerate(arrays.items())},
        shapes={"matrix": (2, 3)},
        numbers={"x": ReducedValues(("max/x", "min/x"), [1.0, -1.0], np.dtype(np.float32), 5.0)},
        metrics={"scalar"},
        summaries={"matrix": SummarySpec("all/matrix", is_scalar=False)},
        summary_values={"hidden": Captured(np.ones(3), 6.0)},
    )
    rest, data = unpack(bytearray(b"".join(bytes(part) for part in pack(step, np.asarray))))
    assert (rest.position, rest.metrics, rest.summaries) == (step.position, step.metrics, step.summaries)
    assert not rest
    np.testing.assert_array_equal(rest.summary_values["hidden"].value, np.ones(3))
    expected = step.to_data(np.asarray)
    assert (data.global_step, data.mode, data.mode_step, data.shapes) == (7, ModeKeys.EVAL, 3, expected.shapes)
    for left, right in zip(data.tensors, expected.tensors, strict=True):
        assert (left.name, left.wall_time) == (right.name, right.wall_time)
        assert (left.value.dtype, left.value.shape) == (right.value.dtype, right.value.shape)
        np.testing.assert_array_equal(left.value, right.value)
    (numbers,) = data.numbers
    assert (numbers.names, numbers.values.tolist()) == (("max/x", "min/x"), [1.0, -1.0])


class GatedBackend(MemoryBackend):
    """Lets nobody write before the gate is opened."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()

    def write(self, key, parts):
        assert self.gate.wait(60)
        super().write(key, parts)


STEP_BYTES = 4000


@pytest.fixture
def backend():
    made = GatedBackend()
    yield made
    made.gate.set()


def run_steps(hook, count):
    for number in range(count):
        hook.run_step({"loss": np.full(STEP_BYTES // 4, number, np.float32)})


def check_steps(trial, count):
    assert [position[0] for position in trial.steps] == list(range(count))
    for (number, _, _), values in trial.steps.items():
        assert values["loss"].tolist() == [number] * (STEP_BYTES // 4)


def test_hook_when_memory_is_full_then_steps_wait_in_the_file(make_hook, read_trial, backend):
    """Training goes on while nothing can be written, and no step is lost."""
    hook = make_hook(backend, when_full="spill", memory_limit_bytes=3 * STEP_BYTES, strict=True)
    run_steps(hook, 50)
    assert hook._dispatcher.output._background.held_bytes <= 3 * STEP_BYTES
    backend.gate.set()
    hook.close()
    assert hook.num_dropped_steps == 0
    check_steps(read_trial(backend), 50)


def test_hook_when_file_is_full_too_then_waits(make_hook, read_trial, backend):
    """Both bounds hold; training then waits as it would without the file."""
    hook = make_hook(
        backend, when_full="spill", memory_limit_bytes=3 * STEP_BYTES, spill_limit_bytes=6 * STEP_BYTES, strict=True
    )
    trainer = threading.Thread(target=run_steps, args=(hook, 30))
    trainer.start()
    trainer.join(0.1)
    assert trainer.is_alive()
    assert os.fstat(hook._dispatcher.output._spill._descriptor).st_size <= 6 * STEP_BYTES
    backend.gate.set()
    trainer.join()
    hook.close()
    check_steps(read_trial(backend), 30)


def test_hook_when_file_cannot_be_written_then_waits_instead(make_hook, read_trial, backend, monkeypatch, caplog):
    """A full temporary disk is no reason to lose anything."""

    def refuse():
        backend.gate.set()
        raise OSError("no space for temporary files")

    monkeypatch.setattr(spill_file, "_open_without_name", refuse)
    hook = make_hook(backend, when_full="spill", memory_limit_bytes=3 * STEP_BYTES)
    run_steps(hook, 20)
    hook.close()
    assert hook.failure is None
    assert caplog.text.count("training waits from now on") == 1
    check_steps(read_trial(backend), 20)
