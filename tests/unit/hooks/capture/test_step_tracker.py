"""Where a hook stands, whether its steps are looked at or only counted."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


class Tracked:
    """A tracker, whose steps are saved in an interval, with notes of what it calls."""

    def __init__(self, save_interval=1):
        self.collections = CollectionSet(Collection, {"losses": ("loss",)}, saved=["losses"])
        self.save_interval = save_interval
        self.num_plans = 0
        self.completed = []
        self.steps = StepTracker(self._make_plan, self.completed.append, threading.RLock(), 1)

    def _make_plan(self):
        self.num_plans += 1
        return self.collections.plan(SaveConfig(save_interval=self.save_interval), None, strict=True)

    def run_step(self):
        """Run a step as a hook does; return its position if it is due, and None if not."""
        steps = self.steps
        if steps.skipped.begin():
            return None
        steps.end()
        steps.ended = None
        step = steps.begin()
        if steps.current_plan():
            return step.position
        steps.skip_until_due()
        return None


@pytest.fixture
def tracked():
    return Tracked()


def fill(step, value=1.0):
    step.tensors["loss"] = Captured(np.float64(value), 0.0)
    return step


EVENTS = ["step"] * 8 + ["ask", "change", TRAIN, EVAL, GLOBAL]


@given(st.lists(st.integers(1, 6), min_size=2, max_size=2), st.lists(st.sampled_from(EVENTS), min_size=10, max_size=60))
def test_positions_when_steps_are_skipped_then_they_are_those_of_counting_all(intervals, events):
    """No step loses its number, or is missed when due, whenever a script asks, changes its mode or the collections."""
    tracked = Tracked(intervals[0])
    mode, history = GLOBAL, []
    for event in events:
        if event == "step":
            mode_step = len(history) if mode is GLOBAL else history.count(mode)
            expected = StepPosition(len(history), mode, mode_step)
            history.append(mode)
            assert tracked.run_step() == (expected if mode_step % intervals[0] == 0 else None)
        elif event == "ask":
            assert tracked.steps.last_begun == len(history) - 1
            assert not history or tracked.steps.open.position == expected
        elif event == "change":
            intervals.reverse()
            tracked.collections.get("losses").save_config = SaveConfig(save_interval=intervals[0])
            tracked.steps.invalidate_plan()
        else:
            mode = event
            tracked.steps.enter_mode(mode)


def test_end_when_a_step_is_open_then_it_is_completed_and_held(tracked):
    """The framework's hook completes a step before it is submitted, and it is submitted once."""
    step = fill(tracked.steps.begin())
    tracked.steps.end()
    assert tracked.completed == [step]
    assert tracked.steps.open is None
    assert tracked.steps.ended is step


def test_end_when_no_step_is_open_then_nothing_is_completed(tracked):
    """The first step of a training has none before it."""
    tracked.steps.end()
    assert tracked.completed == []
    assert tracked.steps.ended is None


def test_end_when_the_step_before_is_not_submitted_then_it_is_kept(tracked):
    """An interruption may come between the end of a step and its submission."""
    step = fill(tracked.steps.begin())
    tracked.steps.end()
    tracked.steps.end()
    assert tracked.steps.ended is step


def test_begin_when_a_step_begins_then_reductions_are_the_frameworks(tracked):
    """Frameworks differ in the divisor of `std`."""
    assert tracked.steps.begin().reduction_ddof == 1


def test_split_when_values_come_after_then_they_have_a_step_of_the_same_position(tracked):
    """The last step can be written early without closing it."""
    first = fill(tracked.steps.begin())
    tracked.steps.split()
    assert tracked.steps.ended is first
    assert tracked.steps.open.position == first.position
    assert not tracked.steps.open


@pytest.mark.parametrize("is_submitted", [False, True])
def test_cancel_when_step_did_not_take_place_then_the_next_has_its_numbers(tracked, is_submitted):
    """The step before it is open again, unless it was submitted: what is submitted cannot change any more."""
    steps = tracked.steps
    steps.enter_mode(TRAIN)
    first = fill(steps.begin())
    steps.end()
    if is_submitted:
        steps.ended = None
    steps.begin()
    steps.cancel()
    assert steps.last_begun == 0
    assert steps.open is (None if is_submitted else first)
    assert steps.ended is None
    assert steps.begin().position == (1, TRAIN, 1)


def test_cancel_when_steps_are_skipped_then_only_the_last_is_taken_back():
    """Counting goes on where it would have without that step, and the next step is looked at."""
    tracked = Tracked(save_interval=9)
    for _ in range(5):
        tracked.run_step()
    tracked.steps.cancel()
    assert tracked.steps.last_begun == 3
    assert not tracked.steps.skipped.is_skipping
    assert tracked.steps.begin().position.global_step == 4


@pytest.mark.parametrize("drop", [StepTracker.discard, StepTracker.discard_open])
def test_discard_when_steps_are_dropped_then_numbers_are_not_given_again(tracked, drop):
    """A dropped step took place; it is only not saved."""
    first = fill(tracked.steps.begin())
    tracked.steps.end()
    tracked.steps.begin()
    drop(tracked.steps)
    assert tracked.steps.open is None
    assert tracked.steps.ended is (None if drop is StepTracker.discard else first)
    assert tracked.steps.begin().position.global_step == 2


def test_current_plan_when_no_step_is_open_then_none(tracked):
    """Nothing is due before the first step, and no plan is made for it."""
    assert tracked.steps.current_plan() is None
    assert tracked.num_plans == 0


def test_current_plan_when_collections_change_within_a_step_then_it_follows(tracked):
    """A plan serves until somebody may have changed a collection."""
    tracked.run_step()
    assert tracked.steps.current_plan().decide("acc") is None
    tracked.run_step()
    assert tracked.num_plans == 1
    tracked.collections.get("losses").include("acc")
    tracked.steps.invalidate_plan()
    assert tracked.steps.current_plan().decide("acc") is not None
    assert tracked.num_plans == 2


@pytest.mark.parametrize(
    ("last_steps", "expected"),
    [
        pytest.param({}, (0, TRAIN, 0), id="an empty folder"),
        pytest.param({GLOBAL: 9, TRAIN: 7}, (10, TRAIN, 8), id="steps of the mode"),
        pytest.param({GLOBAL: 9, EVAL: 2}, (10, TRAIN, 10), id="steps of another mode only"),
    ],
)
def test_resume_after_when_an_earlier_run_has_steps_then_numbers_go_on(tracked, last_steps, expected):
    """It says whether anything has changed, which is worth a warning."""
    tracked.steps.enter_mode(TRAIN)
    assert tracked.steps.resume_after(last_steps) == bool(last_steps)
    assert tracked.steps.begin().position == expected


def test_resume_after_when_counters_are_further_then_they_stay(tracked):
    """Checkpoints may have restored a later step than the last one that was written."""
    for _ in range(5):
        tracked.steps.begin()
    assert not tracked.steps.resume_after({GLOBAL: 4})
    assert tracked.steps.begin().position.global_step == 5
