from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.hooks.counters import StepCounters, StepPosition
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


def test_advance_when_no_mode_was_set_then_counts_globally():
    """Without a mode, the step within the mode is the global one."""
    counters = StepCounters()
    assert [counters.advance() for _ in range(3)] == [StepPosition(step, GLOBAL, step) for step in range(3)]


def test_advance_when_modes_alternate_then_each_counts_its_own():
    """3 TRAIN, 2 EVAL and 1 TRAIN steps number as the store format shows."""
    counters = StepCounters()
    seen = []
    for mode, times in ((TRAIN, 3), (EVAL, 2), (TRAIN, 1)):
        counters.mode = mode
        seen += [tuple(counters.advance()) for _ in range(times)]
    assert seen == [(0, TRAIN, 0), (1, TRAIN, 1), (2, TRAIN, 2), (3, EVAL, 0), (4, EVAL, 1), (5, TRAIN, 3)]


@given(st.lists(st.sampled_from(list(ModeKeys))))
def test_advance_when_modes_are_any_then_agrees_with_counting_the_history(modes):
    """A step's numbers are how many steps came before it, in all modes and in its own."""
    counters = StepCounters()
    for position, mode in enumerate(modes):
        counters.mode = mode
        within = position if mode is GLOBAL else modes[:position].count(mode)
        assert counters.advance() == StepPosition(position, mode, within)
