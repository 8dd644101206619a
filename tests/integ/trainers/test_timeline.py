"""Steps of trainers that know nothing of being timed."""

from __future__ import annotations

import pytest

from support.timelines import count_phases, run_script

LIGHTNING = """
import sys, warnings
warnings.filterwarnings("ignore")
import torch
from torch import nn
from lightning.pytorch import LightningModule, Trainer
from torch.utils.data import DataLoader, TensorDataset

class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def training_step(self, batch, index):
        return self.layer(batch[0]).square().mean()
    def validation_step(self, batch, index):
        return self.layer(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

torch.manual_seed(0)
data = TensorDataset(torch.randn(16, 2))
module = Module()
trainer = Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
    num_sanity_val_steps=0, default_root_dir=sys.argv[1],
)
trainer.fit(module, DataLoader(data, batch_size=4), DataLoader(data, batch_size=8))
print(module.layer.weight.tolist())
"""

TRANSFORMERS = """
import sys
import torch
from torch import nn
from transformers import Trainer, TrainingArguments

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x, labels=None):
        loss = (self.layer(x) - labels).square().mean()
        return {"loss": loss, "logits": self.layer(x)}

torch.manual_seed(0)
data = [{"x": torch.randn(2), "labels": torch.zeros(1)} for _ in range(16)]
model = Model()
arguments = TrainingArguments(
    sys.argv[1], num_train_epochs=2, per_device_train_batch_size=4, per_device_eval_batch_size=8, report_to=[],
    eval_strategy="epoch", save_strategy="epoch", disable_tqdm=True, use_cpu=True, logging_strategy="no", seed=1,
)
Trainer(model, arguments, train_dataset=data, eval_dataset=data).train()
print(model.layer.weight.tolist())
"""


def test_lightning_when_it_fits_then_every_batch_is_a_step(tmp_path):
    """Two epochs of four batches, two of validation each, and a checkpoint each."""
    pytest.importorskip("lightning")
    plain = run_script(LIGHTNING, None, [tmp_path / "a"])
    assert run_script(LIGHTNING, tmp_path / "out", [tmp_path / "b"]) == plain
    phases = count_phases(tmp_path / "out")
    assert phases["Step:ModeKeys.TRAIN"] == phases["Optimizer"] == 8
    assert phases["Step:ModeKeys.EVAL"] in (2, 3, 4)  # the last batch of a validation is fetched ahead
    assert phases["Checkpoint"] == 2


def test_transformers_when_it_trains_then_every_batch_is_a_step(tmp_path):
    """Batches that are fetched ahead are counted once."""
    pytest.importorskip("transformers")
    plain = run_script(TRANSFORMERS, None, [tmp_path / "a"])
    # The trainer prints its speed, too.
    assert run_script(TRANSFORMERS, tmp_path / "out", [tmp_path / "b"]).splitlines()[-1] == plain.splitlines()[-1]
    phases = count_phases(tmp_path / "out")
    assert phases["Step:ModeKeys.TRAIN"] == phases["Optimizer"] == 8
    assert phases["Checkpoint"] >= 2
