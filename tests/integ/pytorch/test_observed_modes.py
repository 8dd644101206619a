"""Forward passes train or evaluate by what follows them, not by the mode that the model was set to."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import update_bn

from sagemaker_debug_ext.hooks.auto.observed_modes import ObservedModes
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

LETTERS = {ModeKeys.TRAIN: "T", ModeKeys.EVAL: "e"}


class Script:
    """A script of few words, whose passes are told to `ObservedModes` as the hook does."""

    def __init__(self) -> None:
        self.model = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.modes = ObservedModes()
        self.seen: list[str] = []
        self.outputs: list[torch.Tensor] = []

    def forward(self, model=None):
        model = model or self.model
        if self.modes.is_left(model):
            self.seen[-1] = "e"
        self.seen.append(LETTERS[self.modes.mode_of(model)])
        output = model(torch.ones(1, model.in_features if isinstance(model, nn.Linear) else 50))
        self.modes.mark(model, output)
        self.outputs.append(output)

    def backward(self, num_used=None):
        """Go backward through the outputs since the last time, or through the last of them only."""
        self.modes.note_backward([sum(output.sum() for output in self.outputs[-(num_used or 0) :])])
        self.outputs.clear()

    def update(self, optimizer=None):
        if self.modes.note_update(optimizer or self.optimizer):
            self.seen[-1] = "T"

    def train(self, num_steps, passes=1):
        for _ in range(num_steps):
            for _ in range(passes):
                self.forward()
            self.backward()
            self.update()

    def evaluate(self, num_steps):
        for _ in range(num_steps):
            self.forward()
            self.outputs.clear()


def test_modes_when_script_does_as_it_should_then_are_those_of_the_model():
    """Training mode with updates, evaluation mode without gradients."""
    script = Script()
    for _ in range(2):
        script.model.train()
        script.train(3)
        script.model.eval()
        with torch.no_grad():
            script.evaluate(2)
    assert "".join(script.seen) == "TTTee" * 2


def test_modes_when_model_stays_in_evaluation_mode_then_updates_tell_training():
    """From the first step on, and evaluation in between is told by its missing gradients."""
    script = Script()
    script.train(3)
    script.model.eval()
    for _ in range(2):
        with torch.no_grad():
            script.evaluate(2)
        script.train(3)
    assert "".join(script.seen) == "TTT" + "eeTTT" * 2


def test_modes_when_evaluation_keeps_gradients_then_is_evaluation():
    """Both with the mode and without it, once training is regular."""
    script = Script()
    script.train(6)
    script.evaluate(4)
    script.train(2)
    script.model.eval()
    script.evaluate(3)
    assert "".join(script.seen) == "TTTTTT" + "eeee" + "TT" + "eee"


def test_modes_when_gradients_are_off_in_training_mode_then_is_evaluation():
    """The first such pass might make targets, or serve another model."""
    script = Script()
    script.train(3)
    with torch.no_grad():
        script.evaluate(3)
    script.train(2)
    assert "".join(script.seen) == "TTT" + "Tee" + "TT"


def test_modes_when_targets_come_from_the_model_itself_then_all_train():
    """As with labels that a model makes for itself, and with values of a next state, through which nothing returns."""
    labels, values = Script(), Script()
    for _ in range(8):
        with torch.no_grad():
            labels.forward()
        labels.outputs.clear()
        labels.train(1)
        values.forward()
        values.forward()
        del values.outputs[1:]
        values.backward()
        values.update()
    assert set(labels.seen) == set(values.seen) == {"T"}


def test_modes_when_a_loss_is_computed_without_gradients_then_is_evaluation():
    """A single pass without gradients evaluates if a loss is computed of what it returns."""
    script = Script()
    script.train(3)
    assert not script.modes.note_loss(torch.zeros(()))
    with torch.no_grad():
        script.forward()
        assert script.seen[-1] == "T"
        assert script.modes.note_loss(script.outputs[-1].sum())


@pytest.mark.parametrize("wrap", [lambda loss: loss, lambda loss: {"loss": loss}])
def test_modes_when_a_loss_of_a_single_pass_has_no_gradient_then_is_evaluation(wrap):
    """Also where the loss itself is computed with gradients on; one that trains something else has gradients."""
    script, head = Script(), nn.Linear(2, 1)
    script.train(3)
    with torch.no_grad():
        script.forward()
    assert not script.modes.note_loss(wrap(head(script.outputs[-1]).sum()))
    assert not script.modes.note_loss("nothing that is known")
    assert script.modes.note_loss(wrap(script.outputs[-1].sum()))


def test_modes_when_a_loss_chooses_samples_before_each_update_then_is_training():
    """The hardest samples of a batch are found by a pass without gradients."""
    script = Script()
    script.train(3)
    for _ in range(3):
        with torch.no_grad():
            script.forward()
        chosen = script.modes.note_loss(script.outputs.pop())
        script.train(1)
    assert not chosen


def test_modes_when_a_backward_pass_is_to_come_then_a_loss_without_gradients_is_training():
    """As one that is only logged, of a student and its teacher."""
    script, teacher = Script(), nn.Linear(3, 2)
    script.train(3)
    script.forward()
    with torch.no_grad():
        script.forward(teacher)
    assert not script.modes.note_loss(script.outputs.pop())
    script.backward()
    script.update()
    script.train(2)
    with torch.no_grad():
        script.forward(teacher)
    assert script.modes.note_loss(script.outputs[-1])


@pytest.mark.parametrize("num_asked", [3, 12])
def test_modes_when_a_policy_is_asked_between_updates_then_only_learning_is_training(num_asked):
    """Passes with gradients that no backward pass goes through evaluate, once the first update has shown it."""
    script = Script()
    for _ in range(3):
        for _ in range(num_asked):
            script.forward()
        script.forward()
        script.backward(num_used=1)
        script.update()
    assert "".join(script.seen) == "T" * num_asked + "T" + ("e" * num_asked + "T") * 2


def test_modes_when_two_passes_share_an_update_later_on_then_both_train():
    """A second view of each batch, from some step on, makes the first no evaluation, but for the first time."""
    script = Script()
    script.train(6)
    script.train(3, passes=2)
    assert "".join(script.seen) == "TTTTTT" + "eT" + "TTTT"


@pytest.mark.parametrize("passes", [2, 3])
def test_modes_when_several_passes_share_an_update_then_all_train(passes):
    """As with two views of a batch, or gradients that accumulate over a cell's steps."""
    script = Script()
    for number in (1, passes, 2 * passes):
        script.train(4, passes=number)
    assert set(script.seen) == {"T"}


def test_modes_when_gradients_are_taken_without_updates_then_is_evaluation():
    """Saliency maps and attacks need backward passes in evaluation mode."""
    script = Script()
    script.train(6)
    script.model.eval()
    for _ in range(4):
        script.forward()
        script.backward()
    assert "".join(script.seen) == "TTTTTT" + "eeee"


def test_modes_when_attack_precedes_each_update_then_model_does_not_learn_in_evaluation_mode():
    """The update follows the pass in training mode."""
    script = Script()
    for _ in range(4):
        script.model.eval()
        script.forward()
        script.backward()
        script.model.train()
        script.train(1)
    assert "".join(script.seen) == "eT" * 4


@pytest.mark.parametrize("teacher_keeps_gradients", [True, False])
def test_modes_when_only_another_model_is_updated_then_this_one_evaluates(teacher_keeps_gradients):
    """A teacher in evaluation mode does not learn, although its passes have gradients."""
    script, teacher = Script(), nn.Linear(3, 2).eval()
    for _ in range(4):
        with torch.set_grad_enabled(teacher_keeps_gradients):
            script.forward(teacher)
        script.train(1)
    assert "".join(script.seen) == "eT" * 4


def test_modes_when_a_model_is_only_asked_then_passes_evaluate():
    """A model that was trained elsewhere is asked sample by sample; a few passes may make targets."""
    script, other = Script(), nn.Linear(3, 2)
    script.train(2)
    with torch.no_grad():
        for _ in range(12):
            script.forward(other)
    assert "".join(script.seen) == "TT" + "T" * 8 + "e" * 4


@pytest.mark.parametrize(("update", "seen"), [(update_bn, "TTT"), (lambda data, model: [*map(model, data)], "Tee")])
def test_modes_when_averages_are_made_anew_then_passes_do_not_evaluate(update, seen):
    """Of a model of averaged weights, as PyTorch's own function does; the same passes on their own evaluate."""
    script = Script()
    script.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    script.optimizer = torch.optim.SGD(script.model.parameters(), lr=0.1)
    found = []
    script.model.register_forward_pre_hook(lambda model, _: found.append(LETTERS[script.modes.mode_of(model)]))
    script.model(torch.randn(8, 3)).sum().backward()
    script.modes.note_update(script.optimizer)
    found.clear()
    with torch.no_grad():
        update([torch.randn(8, 3) for _ in range(3)], script.model)
    assert "".join(found) == seen


def test_modes_when_a_head_is_trained_on_a_frozen_model_then_evaluation_mode_is_meant():
    """Most of the model is not updated."""
    script = Script()
    script.model = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 2)).eval()
    script.optimizer = torch.optim.SGD(script.model[1].parameters(), lr=0.1)
    script.train(4)
    assert "".join(script.seen) == "eeee"


def test_modes_when_generator_feeds_discriminator_without_gradients_then_all_train():
    """Single passes without gradients belong to training."""
    script, discriminator = Script(), nn.Linear(2, 1)
    other = torch.optim.SGD(discriminator.parameters(), lr=0.1)
    for _ in range(8):
        with torch.no_grad():
            script.forward()
        for _ in range(2):
            script.forward(discriminator)
        script.backward()
        script.update(other)
        script.forward()
        script.forward(discriminator)
        script.backward()
        script.update()
    assert set(script.seen) == {"T"}


PROGRAM = """
import sys
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 2))
x, y = torch.randn(320, 8), torch.randint(0, 2, (320,))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    if "stay" not in sys.argv or epoch == 0:
        model.train()
    if "never" in sys.argv:
        model.eval()
    for batch in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[batch * 32 : batch * 32 + 32]), y[batch * 32 : batch * 32 + 32]).backward()
        optimizer.step()
    if "forget" not in sys.argv:
        model.eval()
    with torch.set_grad_enabled("keep" in sys.argv):
        for _ in range(8):
            model(x[256:] + torch.randn(64, 8))
print(sum(parameter.sum() for parameter in model.parameters()).item().hex())
"""


@pytest.mark.parametrize(
    ("arguments", "fires"),
    [(("keep",), False), (("stay",), True), (("never",), True), (("forget",), True)],
)
def test_run_when_model_is_in_the_wrong_mode_then_is_named_directly(tmp_path, monkeypatch, arguments, fires, forks):
    """Training in evaluation mode and evaluation in training mode, with gradients and without."""
    (tmp_path / "train.py").write_text(PROGRAM)
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = forks.run_captured(tmp_path / "train.py", *arguments)
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(tmp_path / "out"))
    issues = evaluate({"TrainEvalMixup": recommended_rules(trial)["TrainEvalMixup"]}, trial).run()
    assert [cause.name for cause in likely_causes(issues)] == (["wrong mode"] if fires else [])
