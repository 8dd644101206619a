"""Train a classifier of points on two spirals with Lightning, with its tensors captured.

The job's hook configuration file selects the tensors and steps to capture. To run the script outside a job, create such
a file, set the environment variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/spirals", "HookParameters": {"save_interval": "10"}}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --epochs 5
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from pathlib import Path

import lightning.pytorch as pl
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from sagemaker_debug_ext.lightning import DebuggerCallback


class SpiralNet(pl.LightningModule):
    """Classifies points by the spiral on which they lie."""

    def __init__(self, learning_rate: float) -> None:
        super().__init__()
        self.learning_rate = learning_rate
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, points: Tensor) -> Tensor:
        return self.layers(points)

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        points, labels = batch
        loss = nn.functional.cross_entropy(self(points), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], _: int) -> None:
        points, labels = batch
        self.log("accuracy", (self(points).argmax(1) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


def make_spirals(num_points: int, seed: int) -> TensorDataset:
    """Return points on two spirals that wind around each other, with a little noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(num_points) % 2
    turns = torch.rand(num_points, generator=generator).sqrt() * 2 * math.pi
    angles = turns + labels * math.pi
    points = torch.stack([turns * angles.cos(), turns * angles.sin()], dim=1) / 4
    return TensorDataset(points + 0.03 * torch.randn(points.shape, generator=generator), labels)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    pl.seed_everything(arguments.seed)
    net = SpiralNet(arguments.learning_rate)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            default_root_dir=folder,
            max_epochs=arguments.epochs,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[DebuggerCallback()],
        )
        trainer.fit(
            net,
            DataLoader(make_spirals(512, seed=1), batch_size=arguments.batch_size, shuffle=True),
            DataLoader(make_spirals(256, seed=2), batch_size=256),
        )
    print(f"accuracy={float(trainer.callback_metrics['accuracy']):.4f}", flush=True)
    model_dir = os.environ.get("SM_MODEL_DIR")
    if model_dir:
        torch.save(net.state_dict(), Path(model_dir) / "model.pt")


if __name__ == "__main__":
    main()
