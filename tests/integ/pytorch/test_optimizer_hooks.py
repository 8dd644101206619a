"""What happens around the updates of optimizers."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizers

from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.pytorch.optimizer_hooks import OptimizerHooks
from sagemaker_debug_ext.vocabulary import ModeKeys


class Watched:
    """Two parameters, each with an optimizer of its own, and the hooks around their updates."""

    def __init__(self):
        self.parameters = {f"gradient/{name}": nn.Parameter(torch.ones(2)) for name in ("a", "b")}
        self.optimizers = {name: torch.optim.SGD([parameter], 0.1) for name, parameter in self.parameters.items()}
        self.step = StepBuffer(StepPosition(0, ModeKeys.TRAIN, 0))
        self.saved = {}
        self.hooks = OptimizerHooks(self._before, self._after)

    def _before(self, optimizer, *_):
        self.hooks.run_before(optimizer)

    def _after(self, optimizer, *_):
        self.hooks.note_used(optimizer, self.parameters, self.step)

    def save(self, name, gradient):
        """Save a gradient, and note the parameter as it is at that moment."""
        self.saved[name] = (gradient.tolist(), self.parameters[name].tolist())
        self.step.tensors[name] = Captured(gradient.clone(), 0.0)

    def update(self, name, gradient=1.0):
        parameter = self.parameters[name]
        parameter.grad = None if gradient is None else torch.full_like(parameter, gradient)
        self.optimizers[name].step()


@pytest.fixture
def watched():
    watched = Watched()
    yield watched
    watched.hooks.detach()


def num_registered():
    return len(optimizers._global_optimizer_pre_hooks) + len(optimizers._global_optimizer_post_hooks)


def test_save_shards_when_an_optimizer_updates_then_its_gradients_are_saved_before(watched):
    """Gradients are those the update uses, and those of the other optimizer are not read yet."""
    watched.hooks.save_shards(watched.parameters, watched.save)
    watched.update("gradient/a", 3.0)
    assert watched.saved == {"gradient/a": ([3, 3], [1, 1])}
    watched.update("gradient/b", 4.0)
    assert watched.saved["gradient/b"] == ([4, 4], [1, 1])


def test_save_shards_when_an_optimizer_updates_twice_then_the_first_gradient_is_saved(watched):
    """Later updates of the same step belong to backward passes that the step does not save."""
    watched.hooks.save_shards(watched.parameters, watched.save)
    watched.update("gradient/a", 3.0)
    watched.update("gradient/a", 9.0)
    assert watched.saved["gradient/a"][0] == [3, 3]


def test_save_shards_when_parameter_has_no_gradient_then_nothing_is_saved(watched):
    """A parameter that the loss does not depend on has none."""
    watched.hooks.save_shards(watched.parameters, watched.save)
    watched.update("gradient/a", None)
    assert watched.saved == {}


def test_end_step_when_step_has_ended_then_later_updates_save_nothing(watched):
    """The next step may not be due."""
    watched.hooks.save_shards(watched.parameters, watched.save)
    watched.hooks.end_step(watched.step)
    watched.update("gradient/a")
    assert watched.saved == {}


@pytest.mark.parametrize("is_captured", [True, False])
def test_note_used_when_an_update_has_used_a_gradient_then_it_is_kept_until_the_step_ends(watched, is_captured):
    """Only what the step holds can be overwritten by a later backward pass."""
    watched.hooks.keep_used_gradients()
    if is_captured:
        watched.save("gradient/a", torch.ones(2))
    watched.update("gradient/a")
    assert watched.hooks.used == ({"gradient/a"} if is_captured else set())
    watched.hooks.end_step(watched.step)
    assert watched.hooks.used == set()


def test_note_used_when_no_step_is_open_then_nothing_is_kept(watched):
    """A script may update before its first step."""
    watched.hooks.keep_used_gradients()
    watched.save("gradient/a", torch.ones(2))
    watched.step = None
    watched.update("gradient/a")
    assert watched.hooks.used == set()


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        pytest.param(lambda watched: None, True, id="nothing"),
        pytest.param(lambda watched: watched.update("gradient/a"), False, id="an update"),
        pytest.param(lambda watched: watched.save("gradient/a", torch.ones(2)), False, id="a backward hook"),
    ],
)
def test_has_missed_gradients_when_awaited_ones_have_not_come_then_true(watched, happens, expected):
    """Updates in compiled code call no hooks; a user who waits for their gradients is told."""
    assert not watched.hooks.has_missed_gradients
    watched.hooks.save_shards(watched.parameters, lambda name, gradient: None)
    happens(watched)
    watched.hooks.end_step(watched.step)
    assert watched.hooks.has_missed_gradients == expected


def test_hooks_when_steps_follow_each_other_then_are_registered_once_and_removed_at_the_end(watched):
    """A compiled optimizer is compiled anew whenever the hooks around it change."""
    before = num_registered()
    for _ in range(3):
        watched.hooks.save_shards(watched.parameters, watched.save)
        watched.hooks.keep_used_gradients()
        assert num_registered() == before + 2
        watched.hooks.end_step(watched.step)
    watched.hooks.detach()
    assert num_registered() == before
    watched.update("gradient/a")
    assert watched.saved == {}
