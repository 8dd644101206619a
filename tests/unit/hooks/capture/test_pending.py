"""Numbers of the script find the step they belong to."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.pending import PendingScalars, PendingTensors, Scalar
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def step():
    return StepBuffer(StepPosition(0, ModeKeys.TRAIN, 0))


def scalar(mode=ModeKeys.TRAIN, is_metric=False):
    return Scalar(Captured(1.0, 2.0), mode, is_metric)


def test_save_when_step_is_of_the_mode_then_has_the_number(step):
    """What is saved while a step is open belongs to it."""
    scalars = PendingScalars()
    scalars.save("scalar/lr", scalar(is_metric=True), step)
    assert step.tensors == {"scalar/lr": Captured(1.0, 2.0)}
    assert step.metrics == {"scalar/lr"}
    assert scalars.waiting == {}


@pytest.mark.parametrize("is_open", [True, False], ids=["of another mode", "not open"])
def test_save_when_step_is_not_the_one_then_number_waits_for_the_next(step, is_open):
    """The step that begins next gets it, and no step gets it twice."""
    scalars = PendingScalars()
    scalars.save("scalar/lr", scalar(ModeKeys.EVAL), step if is_open else None)
    assert step.tensors == {}
    scalars.begin(step)
    assert list(step.tensors) == ["scalar/lr"]
    assert step.metrics == set()
    assert scalars.waiting == {}


def test_settle_when_a_step_of_their_mode_is_coming_then_numbers_go_on_waiting(step):
    """Only those whose step is not coming are given to the open one."""
    scalars = PendingScalars()
    scalars.save("a", scalar(ModeKeys.EVAL), step)
    scalars.save("b", scalar(ModeKeys.PREDICT), step)
    scalars.flush_to(step, ModeKeys.EVAL, is_final=False)
    assert list(step.tensors) == ["b"]
    scalars.flush_to(step, ModeKeys.EVAL, is_final=True)
    assert list(step.tensors) == ["b", "a"]


ARRAY = np.zeros(100, np.uint8)


class Plan:
    """Has everything due of some collections."""

    def __init__(self, *due):
        self._due = due

    def decide_custom(self, _, collections):
        found = tuple(name for name in collections if name in self._due)
        return SaveDecision(found, value=True, shape=False, reductions=()) if found else None


@pytest.fixture
def tensors():
    return PendingTensors(memory_limit_bytes=300)


def names(tensors, *due):
    return [name for name, _, _ in tensors.take_due(Plan(*due))]


def test_take_due_when_some_are_due_then_the_others_go_on_waiting(tensors):
    """Each is handed out once."""
    tensors.add("a", Captured(ARRAY, 0.0), ("x",))
    tensors.add("b", Captured(ARRAY, 0.0), ("y",))
    assert names(tensors, "x") == ["a"]
    assert tensors
    assert names(tensors, "x", "y") == ["b"]
    assert not tensors


def test_add_when_too_much_waits_then_the_oldest_give_way(tensors, caplog):
    """That is told once; what was handed out, or replaced, holds no memory any more."""
    for name in "abcabc":
        tensors.add(name, Captured(ARRAY, 0.0), ("x",))
    assert names(tensors, "x") == ["a", "b", "c"]
    assert not caplog.text
    for name in "abcade":
        tensors.add(name, Captured(ARRAY, 0.0), ("x",))
    assert names(tensors, "x") == ["a", "d", "e"]
    assert caplog.text.count("too much waits") == 1


def test_add_when_a_value_is_larger_than_the_limit_then_it_alone_is_kept(tensors):
    """There is always room for the newest."""
    tensors.add("a", Captured(ARRAY, 0.0), ("x",))
    tensors.add("huge", Captured(np.zeros(1000, np.uint8), 0.0), ("x",))
    assert names(tensors, "x") == ["huge"]
