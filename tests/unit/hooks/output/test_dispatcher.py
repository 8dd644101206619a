"""What becomes of ended steps."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.flight_recorder import FlightRecorder
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
def deliver():
    """Return a function that makes a delivery to an output."""

    def make(output, num_recorded=0, may_drop=False):
        collections = CollectionSet(Collection, {"losses": ("loss",)}, saved=["losses"])
        recorder = FlightRecorder(num_recorded, 1 << 20) if num_recorded else None
        return StepDispatcher(output, collections, np.asarray, recorder, threading.RLock(), may_drop)

    return make


def step(number, loss=1.0):
    return StepBuffer(StepPosition(number, ModeKeys.TRAIN, number), {"loss": Captured(np.float32(loss), 0.0)})


def test_take_when_collections_have_no_news_then_their_file_is_written_once(deliver):
    """It comes before the first step, so that readers know where tensors belong."""
    output = Output()
    delivery = deliver(output)
    for number in range(2):
        delivery.take(step(number), is_dry=False)
    assert output.written == [["losses"], 0, 1]
    assert delivery.last_saved_step == 1


def test_take_when_dry_then_only_collections_are_written(deliver):
    """Nothing counts as saved or as left out."""
    output = Output()
    delivery = deliver(output)
    delivery.take(step(0), is_dry=True)
    assert output.written == [["losses"]]
    assert (delivery.last_saved_step, delivery.num_dropped_steps) == (-1, 0)


def test_take_when_there_is_no_room_then_steps_are_counted_and_told_of_once(deliver, caplog):
    """Steps that are left out are not the last one saved."""
    delivery = deliver(Output(room=2), may_drop=True)
    for number in range(4):
        delivery.take(step(number), is_dry=False)
    assert (delivery.last_saved_step, delivery.num_dropped_steps) == (0, 3)
    assert caplog.text.count("is left out") == 1


def test_take_when_recording_then_the_last_steps_are_written_on_demand(deliver):
    """They are written once."""
    output = Output()
    delivery = deliver(output, num_recorded=2)
    for number in range(4):
        delivery.take(step(number), is_dry=False)
    assert output.written == [["losses"]]
    delivery.write_recorded(is_dry=False)
    delivery.write_recorded(is_dry=False)
    assert output.written == [["losses"], 2, 3]


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_take_when_recording_and_a_loss_is_not_finite_then_writes_up_to_that_step(deliver, loss, caplog):
    """What led to it is what the recorder is for."""
    output = Output()
    delivery = deliver(output, num_recorded=2)
    for number, each in enumerate([1.0, 1.0, 1.0, loss, 1.0]):
        delivery.take(step(number, each), is_dry=False)
    assert output.written == [["losses"], 2, 3]
    assert "step 3 is not finite" in caplog.text
