"""Train a classifier of points on two spirals in a loop with accelerate, with its tensors captured.

Gradients are accumulated over several batches; one update of the weights is one step. The job's hook configuration file
selects the tensors and steps to capture. To run the script outside a job, create such a file, set the environment
variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/spirals", "HookParameters": {"save_interval": "10"}}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --epochs 5
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sagemaker_debug_ext.pytorch as smd


class SpiralNet(nn.Sequential):
    """Classifies points by the spiral on which they lie."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))


def make_spirals(num_points: int) -> TensorDataset:
    """Return points on two spirals that wind around each other, with a little noise."""
    labels = torch.arange(num_points) % 2
    turns = torch.rand(num_points).sqrt() * 2 * math.pi
    angles = turns + labels * math.pi
    points = torch.stack([turns * angles.cos(), turns * angles.sin()], dim=1) / 4
    return TensorDataset(points + 0.03 * torch.randn(points.shape), labels)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--batches-per-update", type=int, default=2)
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    set_seed(arguments.seed)
    accelerator = Accelerator(gradient_accumulation_steps=arguments.batches_per_update)
    net = SpiralNet()
    model, optimizer, batches = accelerator.prepare(
        net,
        torch.optim.Adam(net.parameters(), lr=arguments.learning_rate),
        DataLoader(make_spirals(512), batch_size=arguments.batch_size, shuffle=True),
    )
    loss_function = nn.CrossEntropyLoss()

    hook = smd.Hook.create_from_json_file()
    hook.explicit_steps = True
    hook.register_module(accelerator.unwrap_model(model))
    hook.register_loss(loss_function)
    hook.set_mode(smd.modes.TRAIN)

    loss = torch.tensor(math.nan)
    for _ in range(arguments.epochs):
        for points, labels in batches:
            with accelerator.accumulate(model):
                loss = loss_function(model(points), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                hook.step()
    hook.close()

    print(f"loss={float(loss):.4f}", flush=True)
    model_dir = os.environ.get("SM_MODEL_DIR")
    if model_dir:
        torch.save(accelerator.unwrap_model(model).state_dict(), Path(model_dir) / "model.pt")


if __name__ == "__main__":
    main()
