"""What happens to finished steps."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.vocabulary import ModeKeys


class Output:
    """Notes what it is to write, and has room for so many steps."""

    def __init__(self, room=100):
        self.room = room
        self.written = []

    def write_step(self, step, to_array, may_drop):
        if len(self.written) >= self.room and may_drop:
            return False
        self.written.append(step.position.global_step)
        return True

    def write_collections(self, collections):
        self.written.append([collection["name"] for collection in collections])


@pytest.fixture
def make_dispatcher():
    """Return a function that makes a dispatcher to an output."""

    def make(output, **options):
        collections = CollectionSet(Collection, {"losses": ("loss",)}, saved=["losses"])
        dispatcher = StepDispatcher(MemoryBackend(), HookOptions(**options), collections, np.asarray, threading.RLock())
        dispatcher.output = output
        return dispatcher

    return make


def step(number, loss=1.0):
    return StepBuffer(StepPosition(number, ModeKeys.TRAIN, number), {"loss": Captured(np.float32(loss), 0.0)})


def test_submit_when_collections_have_no_news_then_their_file_is_written_once(make_dispatcher):
    """It comes before the first step, so that readers know where tensors belong."""
    output = Output()
    dispatcher = make_dispatcher(output)
    for number in range(2):
        dispatcher.submit(step(number))
    assert output.written == [["losses"], 0, 1]
    assert dispatcher.last_saved_step == 1


def test_submit_when_dry_then_only_collections_are_written(make_dispatcher):
    """Nothing counts as saved or as left out."""
    output = Output()
    dispatcher = make_dispatcher(output, dry_run=True)
    dispatcher.submit(step(0))
    assert output.written == [["losses"]]
    assert (dispatcher.last_saved_step, dispatcher.num_dropped_steps) == (-1, 0)


def test_submit_when_there_is_no_room_then_steps_are_counted_and_told_of_once(make_dispatcher, caplog):
    """Steps that are left out are not the last one saved."""
    dispatcher = make_dispatcher(Output(room=2), when_full="drop")
    for number in range(4):
        dispatcher.submit(step(number))
    assert (dispatcher.last_saved_step, dispatcher.num_dropped_steps) == (0, 3)
    assert caplog.text.count("is left out") == 1


def test_submit_when_recording_then_the_last_steps_are_written_on_demand(make_dispatcher):
    """They are written once."""
    output = Output()
    dispatcher = make_dispatcher(output, flight_recorder=2)
    for number in range(4):
        dispatcher.submit(step(number))
    assert output.written == [["losses"]]
    dispatcher.write_recording()
    dispatcher.write_recording()
    assert output.written == [["losses"], 2, 3]


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_submit_when_recording_and_a_loss_is_not_finite_then_writes_up_to_that_step(make_dispatcher, loss, caplog):
    """What led to it is what the recorder is for."""
    output = Output()
    dispatcher = make_dispatcher(output, flight_recorder=2)
    for number, value in enumerate([1.0, 1.0, 1.0, loss, 1.0]):
        dispatcher.submit(step(number, value))
    assert output.written == [["losses"], 2, 3]
    assert "step 3 is not finite" in caplog.text
