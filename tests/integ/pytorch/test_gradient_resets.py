"""Whether a script resets gradients between updates, as `run` sees it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sagemaker_debug_ext.hooks.auto.gradient_resets import GradientResets


class Script:
    """A script of few words, whose backward passes and updates are told to `GradientResets` as the hook does."""

    def __init__(self, resets=None, optimizer=torch.optim.SGD):
        self.resets = resets or GradientResets()
        self.model = nn.Linear(3, 2)
        self.optimizer = optimizer(self.model.parameters(), lr=0.1)
        self.seen = []

    def backward(self, *others, reads_values=True):
        self.resets.note_backward(reads_values)
        output = self.model(torch.ones(4, 3))
        for other in others:
            output = other.model(torch.nn.functional.pad(output, (0, 1)))
        output.square().sum().backward()
        self.resets.note_backward_done()

    def update(self):
        self.seen.append(self.resets.note_update(self.optimizer))
        self.optimizer.step()


@pytest.mark.parametrize(
    ("reset", "is_kept"),
    [
        pytest.param(lambda script: None, True, id="never"),
        pytest.param(lambda script: script.optimizer.zero_grad(), False, id="to None"),
        pytest.param(lambda script: script.optimizer.zero_grad(set_to_none=False), False, id="to 0"),
        pytest.param(lambda script: script.model.zero_grad(), False, id="by the model"),
        pytest.param(lambda script: [p.grad.zero_() for p in script.model.parameters()], False, id="by hand"),
        pytest.param(lambda script: [p.grad.data.zero_() for p in script.model.parameters()], False, id="of data"),
    ],
)
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_update_when_gradients_are_not_reset_then_is_told(reset, is_kept, optimizer):
    """Whichever way gradients are reset, and whichever optimizer uses them; the first update tells nothing."""
    script = Script(optimizer=optimizer)
    for _ in range(4):
        script.backward()
        script.update()
        reset(script)
    assert script.seen == [None, *[is_kept] * 3]


def test_update_when_gradients_accumulate_on_purpose_then_are_reset():
    """Several backward passes share an update, and clipping comes before it."""
    script = Script()
    for _ in range(4):
        for _ in range(3):
            script.backward()
        nn.utils.clip_grad_norm_(script.model.parameters(), 1e-3)
        script.update()
        script.optimizer.zero_grad()
    assert script.seen == [None, False, False, False]


def test_update_when_clipped_gradients_are_kept_then_is_told():
    """Clipping is no reset."""
    script = Script()
    for _ in range(4):
        script.backward()
        nn.utils.clip_grad_norm_(script.model.parameters(), 1e-3)
        script.update()
    assert script.seen == [None, True, True, True]


@pytest.mark.parametrize("sound", [True, False])
def test_update_when_another_model_is_trained_through_this_one_then_its_resets_are_told(sound):
    """The pass of a generator adds to a discriminator's gradients, which are reset before its own pass."""
    discriminator = Script()
    generator = Script(discriminator.resets)
    for _ in range(4):
        if sound:
            discriminator.optimizer.zero_grad()
        discriminator.backward()
        discriminator.update()
        generator.optimizer.zero_grad()
        generator.backward(discriminator)
        generator.update()
    assert discriminator.seen == [None, *[not sound] * 3]
    assert generator.seen == [None, False, False, False]


def test_update_when_no_backward_pass_has_come_then_tells_nothing():
    """An optimizer may be stepped twice."""
    script = Script()
    script.backward()
    script.update()
    script.update()
    assert script.seen == [None, None]


def test_update_when_values_were_not_read_then_tells_nothing():
    """At a step that is not saved, a gradient that looks the same may have been reset through its data."""
    script = Script()
    for reads_values in (True, True, False, True):
        script.backward(reads_values=reads_values)
        script.update()
    assert script.seen == [None, True, None, True]


def test_optimizers_when_of_one_class_then_have_numbers_of_their_own():
    """Two optimizers are not mixed up, whichever of them makes an update first in a step."""
    first = Script()
    second = Script(first.resets)
    for script in (first, second, second, first):
        script.backward()
        script.update()
    assert [first.resets.number_of(script.optimizer) for script in (first, second)] == [0, 1]


def test_resets_when_an_optimizer_is_gone_then_keep_nothing_of_it():
    """Weights of a model that is trained no longer can be freed."""
    script = Script()
    script.backward()
    script.update()
    assert len(script.resets._optimizers) == 1
    del script.optimizer
    assert len(script.resets._optimizers) == 0
