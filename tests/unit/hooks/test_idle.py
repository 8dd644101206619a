"""Tests of counting steps at which nothing is due."""

import pytest

from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def hook(make_hook):
    """A hook that saves one step in five, at a step of which nothing is due."""
    hook = make_hook(save_config=SaveConfig(save_interval=5))
    hook.run_step({"loss": 0.0})
    hook.run_step({"loss": 1.0})
    return hook


def test_steps_when_nothing_is_due_then_are_only_counted_until_somebody_asks(hook):
    """Steps until the next one to save touch a single counter, and the hook still knows where it stands."""
    assert hook._idle_steps.num_left == 3
    assert hook._begin_step() is None
    assert hook._begin_step() is None
    assert (hook._idle_steps.num_left, hook._idle_steps.num_begun) == (1, 2)
    assert hook.step == 3
    assert hook._idle_steps.num_begun == 0


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
        pytest.param(lambda hook: hook._give_up(OSError()), id="a failure"),
        pytest.param(lambda hook: hook.close(), id="the end"),
    ],
)
def test_steps_when_something_changes_then_none_is_passed_over_unseen(hook, change):
    """Whatever may make a step to come matter has it looked at."""
    change(hook)
    assert hook._idle_steps.num_left == 0


def test_set_mode_when_it_is_the_same_then_steps_stay_idle(hook):
    """Scripts that say the mode at every step pay nothing for it."""
    hook.set_mode(hook.mode)
    assert hook._idle_steps.num_left == 3


def test_steps_when_a_tensor_waits_for_its_collection_then_are_looked_at(hook):
    """The collection may be due when none of those that are saved is."""
    hook.save_tensor("own", [1.0], "losses")
    hook._begin_step()
    assert hook._idle_steps.num_left == 0
