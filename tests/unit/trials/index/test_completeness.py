"""Which steps are complete, which may still come, and which never will."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.store.format.index import IndexEntry, IndexFile
from sagemaker_debug_ext.trials.index.completeness import Completeness, StepState
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.vocabulary import ModeKeys

AVAILABLE, UNAVAILABLE, NOT_YET = StepState.AVAILABLE, StepState.UNAVAILABLE, StepState.NOT_YET_AVAILABLE


class Follower:
    """Adds files to an index and keeps its completeness up to date."""

    def __init__(self, num_workers=2, window=1000):
        self.index = TrialIndex()
        self.completeness = Completeness(self.index, num_workers, window)

    def add(self, *files, mode=ModeKeys.TRAIN, offset=0):
        for step, rank in files:
            self.index.add(step, f"worker_{rank}", IndexEntry.of(IndexFile(mode, step - offset, None, {})))
        self.completeness.update({step for step, _ in files})

    def state(self, step, mode=ModeKeys.GLOBAL):
        return self.completeness.state(step, mode)


@pytest.fixture
def worked_example():
    """Two workers; both wrote 0 and 20, only the first wrote 10 and 30."""
    follower = Follower()
    follower.add((0, 0), (0, 1), (10, 0), (20, 0), (20, 1), (30, 0))
    return follower


@pytest.mark.parametrize(
    ("step", "running", "ended"),
    [
        (0, AVAILABLE, AVAILABLE),
        (5, UNAVAILABLE, UNAVAILABLE),
        (10, AVAILABLE, AVAILABLE),
        (15, UNAVAILABLE, UNAVAILABLE),
        (20, AVAILABLE, AVAILABLE),
        (25, NOT_YET, UNAVAILABLE),
        (30, NOT_YET, AVAILABLE),
        (35, NOT_YET, UNAVAILABLE),
    ],
)
def test_state_when_some_steps_lack_a_worker_then_a_later_complete_one_settles_them(
    worked_example, step, running, ended
):
    """A step is settled once it, or a later step, is complete, or the job has ended; its mode makes no difference."""
    for mode in (ModeKeys.GLOBAL, ModeKeys.TRAIN):
        assert worked_example.state(step, mode) is running
    worked_example.completeness.finish()
    for mode in (ModeKeys.GLOBAL, ModeKeys.TRAIN):
        assert worked_example.state(step, mode) is ended


def test_state_when_nothing_was_saved_then_depends_on_the_end():
    """An empty trial may still get steps until it has ended."""
    follower = Follower()
    assert follower.state(0) is NOT_YET
    follower.completeness.finish()
    assert follower.state(0) is UNAVAILABLE
    assert follower.completeness.last_complete_step == -1


def test_state_when_modes_alternate_then_each_counts_its_own_steps():
    """A step of a mode is settled by later steps of its mode that are complete, whatever their global number."""
    follower = Follower(num_workers=1)
    follower.add((0, 0), (4, 0))
    follower.add((6, 0), (8, 0), mode=ModeKeys.EVAL, offset=6)
    assert [follower.state(step, ModeKeys.EVAL) for step in range(4)] == [AVAILABLE, UNAVAILABLE, AVAILABLE, NOT_YET]
    assert follower.state(5, ModeKeys.TRAIN) is NOT_YET
    assert follower.state(0, ModeKeys.PREDICT) is NOT_YET


@pytest.mark.parametrize("scale", [1, 100])
def test_window_when_too_many_steps_wait_then_the_oldest_are_given_up(scale):
    """What is counted are steps, not their numbers, so gaps make no difference."""
    follower = Follower(window=4)
    follower.add((0, 0), (0, 1), *((step * scale, 0) for step in range(1, 5)))
    assert follower.completeness.last_complete_step == 0
    follower.add((5 * scale, 0))
    assert follower.completeness.last_complete_step == 2 * scale
    follower.add((6 * scale, 0))
    assert follower.completeness.last_complete_step == 2 * scale
    follower.add((7 * scale, 0))
    assert follower.completeness.last_complete_step == 4 * scale
    assert follower.state(scale) is AVAILABLE


@pytest.mark.parametrize(("window", "last_complete_steps"), [(1, [0, 1, 2, 2]), (2, [0, 1, 1, 1]), (3, [0, 0, 0, 0])])
def test_window_when_many_steps_wait_at_once_then_each_look_gives_up_half_of_it(window, last_complete_steps):
    """Half of the window is one step at least, and what fits into the window goes on waiting."""
    follower = Follower(window=window)
    follower.add(*((step, 0) for step in range(4)))
    seen = [follower.completeness.last_complete_step]
    for _ in range(3):
        follower.add()
        seen.append(follower.completeness.last_complete_step)
    assert seen == last_complete_steps


def test_late_worker_when_it_catches_up_then_the_step_is_complete():
    """A part that comes after later steps were seen counts."""
    follower = Follower()
    follower.add((0, 0), (1, 0), (2, 0))
    follower.add((1, 1))
    assert follower.completeness.last_complete_step == 1
    follower.add((0, 1))
    assert follower.completeness.last_complete_step == 1


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=40),
    st.integers(1, 6),
    st.integers(1, 5),
)
def test_state_when_files_come_in_any_order_then_available_steps_stay_available(files, window, batch):
    """What was once available stays so, no more than the window wait after a few looks, and the end settles all."""
    follower = Follower(num_workers=3, window=window)
    was_available = set()
    for start in range(0, len(files), batch):
        follower.add(*files[start : start + batch])
        available = {step for step in range(14) if follower.state(step) is AVAILABLE}
        assert was_available <= available
        was_available = available
        for _ in range(batch):
            follower.add()
        waiting = [step for step in follower.index.steps() if not follower.completeness.is_complete(step)]
        assert len(waiting) <= window
        assert all(follower.index.num_writers(step) < 3 for step in waiting)
    follower.completeness.finish()
    assert {step for step in range(14) if follower.state(step) is AVAILABLE} == {step for step, _ in files}
    assert NOT_YET not in {follower.state(step) for step in range(14)}
