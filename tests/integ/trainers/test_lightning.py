"""The callback of Lightning's trainer."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lightning = pytest.importorskip("lightning.pytorch")

import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.lightning import DebuggerCallback
from sagemaker_debug_ext.trials import create_trial

pytestmark = pytest.mark.filterwarnings("ignore")


class Module(lightning.LightningModule):
    """A linear regression."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def training_step(self, batch, _):
        loss = self.fc(batch).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.fc(batch).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class CalledModule(Module):
    """The same, with a validation that calls the module itself."""

    def forward(self, batch):
        return self.fc(batch)

    def validation_step(self, batch, _):
        self.log("val_loss", self(batch).square().mean())


class PartModule(Module):
    """The same, with a part that computes the loss."""

    factor = 1.0

    def __init__(self):
        super().__init__()
        self.loss = nn.MSELoss()

    def training_step(self, batch, _):
        return self.factor * self.loss(self.fc(batch), torch.zeros(len(batch), 1))


class WeightedPartModule(PartModule):
    """The same, with a loss that is more than what the part computes."""

    factor = 3.0


def train(folder, callbacks, kind=Module):
    lightning.seed_everything(0)
    module = kind()
    data = torch.utils.data.DataLoader(torch.randn(12, 3), batch_size=4)
    trainer = lightning.Trainer(
        default_root_dir=folder,
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    trainer.fit(module, data, data)
    return module


def test_trainer_when_callback_is_given_then_each_batch_is_a_step(make_hook, tmp_path):
    """Batches of training and validation are steps; training ends the same to the bit."""
    without = train(tmp_path / "a", []).state_dict()
    hook = make_hook(include_regex=["fc_output"])
    attached = train(tmp_path / "b", [DebuggerCallback(hook)]).state_dict()
    assert hook.failure is None
    assert all(torch.equal(tensor, attached[name]) for name, tensor in without.items())
    trial = create_trial(hook.out_dir)
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    assert trial.steps(smd.modes.EVAL) == list(range(6))
    assert {"Module_fc.weight", "gradient/Module_fc.bias", "loss_output_0", "fc_output_0", "scalar/val_loss"} <= set(
        trial.tensor_names()
    )


def test_trainer_when_it_tries_out_validation_then_that_makes_no_step(make_hook, tmp_path):
    """What is tried out before training is no step, also if validation calls the module itself."""
    hook = make_hook(include_regex=["CalledModule_output"])
    train(tmp_path / "a", [DebuggerCallback(hook)], CalledModule)
    assert hook.failure is None
    trial = create_trial(hook.out_dir)
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    assert trial.steps(smd.modes.EVAL) == list(range(6))
    assert len(trial.steps()) == 12
    assert trial.tensor("CalledModule_output_0").steps(smd.modes.EVAL) == list(range(6))
    assert "CalledModule_output_1" not in trial.tensor_names()


@pytest.mark.parametrize(("kind", "factors"), [(PartModule, [1.0]), (WeightedPartModule, [1.0, 3.0])])
def test_trainer_when_a_part_is_called_loss_then_each_loss_is_saved_once(make_hook, tmp_path, kind, factors):
    """The part's output is usually the loss of the batch, and another loss is not left out."""
    hook = make_hook()
    train(tmp_path / "a", [DebuggerCallback(hook)], kind)
    trial = create_trial(hook.out_dir)
    names = [f"loss_output_{number}" for number in range(len(factors))]
    assert trial.tensor_names(collection="losses") == names
    steps = trial.steps(mode=smd.modes.TRAIN)
    assert len(steps) == 6
    for step in steps:
        values = [trial.tensor(name).value(step, mode=smd.modes.TRAIN) for name in names]
        assert [value / values[0] for value in values] == pytest.approx(factors)
