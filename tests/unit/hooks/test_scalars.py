"""Numbers of the script find the step they belong to."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.hooks.counters import StepPosition
from sagemaker_debug_ext.hooks.scalars import Scalar, Scalars
from sagemaker_debug_ext.hooks.steps import Captured, OpenStep, Shown
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def step():
    return OpenStep(StepPosition(0, ModeKeys.TRAIN, 0))


def scalar(mode=ModeKeys.TRAIN, is_metric=False):
    return Scalar(Captured(1.0, 2.0), mode, is_metric)


def test_save_when_step_is_of_the_mode_then_has_the_number(step):
    """What is saved while a step is open belongs to it."""
    scalars = Scalars()
    scalars.save("scalar/lr", scalar(is_metric=True), step, is_shown=True)
    assert step.tensors == {"scalar/lr": Captured(1.0, 2.0)}
    assert step.metrics == {"scalar/lr"}
    assert step.shown == {"scalar/lr": Shown("scalar/lr", is_scalar=True)}
    assert scalars.waiting == {}


@pytest.mark.parametrize("is_open", [True, False], ids=["of another mode", "not open"])
def test_save_when_step_is_not_the_one_then_number_waits_for_the_next(step, is_open):
    """The step that begins next gets it, and no step gets it twice."""
    scalars = Scalars()
    scalars.save("scalar/lr", scalar(ModeKeys.EVAL), step if is_open else None, is_shown=False)
    assert step.tensors == {}
    scalars.begin(step, is_shown=False)
    assert list(step.tensors) == ["scalar/lr"]
    assert step.shown == {}
    assert step.metrics == set()
    assert scalars.waiting == {}


def test_settle_when_a_step_of_their_mode_is_coming_then_numbers_go_on_waiting(step):
    """Only those whose step is not coming are given to the open one."""
    scalars = Scalars()
    scalars.save("a", scalar(ModeKeys.EVAL), step, is_shown=False)
    scalars.save("b", scalar(ModeKeys.PREDICT), step, is_shown=False)
    scalars.settle(step, ModeKeys.EVAL, is_last=False, is_shown=False)
    assert list(step.tensors) == ["b"]
    scalars.settle(step, ModeKeys.EVAL, is_last=True, is_shown=False)
    assert list(step.tensors) == ["b", "a"]
