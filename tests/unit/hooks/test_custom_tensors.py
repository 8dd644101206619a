"""Tensors of scripts wait for their step within bounded memory."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.hooks.custom_tensors import CustomTensors
from sagemaker_debug_ext.hooks.decisions import Decision
from sagemaker_debug_ext.hooks.steps import Captured

ARRAY = np.zeros(100, np.uint8)


class Plan:
    """Has everything due of some collections."""

    def __init__(self, *due):
        self._due = due

    def decide_custom(self, _, collections):
        found = tuple(name for name in collections if name in self._due)
        return Decision(found, value=True, shape=False, reductions=()) if found else None


@pytest.fixture
def tensors():
    return CustomTensors(memory_limit_bytes=300)


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
