from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.hooks.capture.counters import StepCounters, StepPosition
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


@pytest.fixture
def hook(make_hook):
    """A hook that saves one step in five, at a step of which nothing is due."""
    hook = make_hook(save_config=SaveConfig(save_interval=5))
    hook.run_step({"loss": 0.0})
    hook.run_step({"loss": 1.0})
    return hook


def test_steps_when_nothing_is_due_then_are_only_counted_until_somebody_asks(hook):
    """Steps until the next one to save touch a single counter, and the hook still knows where it stands."""
    assert hook._skipped.num_left == 3
    assert hook._begin_step() is None
    assert hook._begin_step() is None
    assert (hook._skipped.num_left, hook._skipped.num_begun) == (1, 2)
    assert hook.step == 3
    assert hook._skipped.num_begun == 0


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda hook: hook.set_mode(ModeKeys.EVAL), id="another mode"),
        pytest.param(lambda hook: hook.get_collection("losses"), id="a collection handed out"),
        pytest.param(lambda hook: hook.get_collections(), id="all collections handed out"),
        pytest.param(lambda hook: hook.add_collection(hook.get_collection("more")), id="a collection added"),
        pytest.param(lambda hook: hook.save_scalar("s", 1.0), id="a scalar"),
        pytest.param(lambda hook: hook.save_tensor("own", [1.0], "new"), id="a tensor of a new collection"),
        pytest.param(lambda hook: hook.save_tensor("own", [1.0], "losses"), id="a tensor of a known collection"),
        pytest.param(lambda hook: hook._disable(OSError()), id="a failure"),
        pytest.param(lambda hook: hook.close(), id="the end"),
    ],
)
def test_steps_when_something_changes_then_none_is_passed_over_unseen(hook, change):
    """Whatever may make a step to come matter has it looked at."""
    change(hook)
    assert hook._skipped.num_left == 0


def test_set_mode_when_it_is_the_same_then_steps_stay_idle(hook):
    """Scripts that say the mode at every step pay nothing for it."""
    hook.set_mode(hook.mode)
    assert hook._skipped.num_left == 3


def test_steps_when_a_tensor_waits_for_its_collection_then_are_looked_at(hook):
    """The collection may be due when none of those that are saved is."""
    hook.save_tensor("own", [1.0], "losses")
    hook._begin_step()
    assert hook._skipped.num_left == 0


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        ([], False),
        ([ModeKeys.EVAL, ModeKeys.PREDICT], False),
        ([ModeKeys.EVAL, ModeKeys.TRAIN], True),
        ([ModeKeys.GLOBAL], True),
        ([ModeKeys.EVAL, ModeKeys.GLOBAL], True),
    ],
)
def test_training_when_steps_began_then_is_told_from_evaluation(modes, expected):
    """Steps without a mode may be training; resumed runs count from where they go on."""
    for resumed in (False, True):
        counters = StepCounters()
        if resumed:
            counters.resume_after(7, {})
        for mode in modes:
            counters.mode = mode
            counters.advance()
        assert counters.has_trained is expected
