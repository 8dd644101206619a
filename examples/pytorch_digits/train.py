"""Train a classifier of handwritten digits, with its tensors captured.

The script trains on the 1,797 images (8 x 8 pixels) that scikit-learn ships, or on `digits.npz` (arrays `images` and
`labels`) in the folder that the environment variable SM_CHANNEL_TRAINING names. It is an ordinary script for a
SageMaker training job with a hook; the job's hook configuration file selects tensors and steps.

To run it elsewhere, create such a file, set the environment variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/digits", "HookParameters": {"save_interval": "10"}}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --epochs 5
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import sagemaker_debug_ext.pytorch as smd

NUM_CLASSES = 10
NUM_PIXELS = 64
NUM_VALIDATION_IMAGES = 360


def conv_block(in_channels: int, out_channels: int) -> nn.Sequential:
    block = nn.Sequential()
    block.add_module("conv", nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1))
    block.add_module("relu", nn.ReLU())
    block.add_module("pool", nn.MaxPool2d(2))
    return block


class ConvNet(nn.Module):
    """Two convolutions and a linear layer; learns the digits well."""

    def __init__(self) -> None:
        super().__init__()
        self.block1 = conv_block(1, 32)
        self.block2 = conv_block(32, 64)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(64 * 2 * 2, NUM_CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        features = self.block2(self.block1(images))
        return self.fc(self.dropout(features.flatten(1)))


class DeepSigmoidNet(nn.Module):
    """Twenty sigmoid layers: each shrinks the gradient on its way back, so the first ones learn nothing."""

    def __init__(self, num_layers: int = 20, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential()
        for number in range(num_layers):
            self.layers.add_module(f"fc{number}", nn.Linear(width if number else NUM_PIXELS, width))
            self.layers.add_module(f"sigmoid{number}", nn.Sigmoid())
        self.head = nn.Linear(width, NUM_CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.layers(images.flatten(1)))


MODELS = {"healthy": ConvNet, "vanishing": DeepSigmoidNet}


def load_digits() -> tuple[Tensor, Tensor]:
    """Return all images, scaled to 0..1 with one channel, and their labels."""
    channel = os.environ.get("SM_CHANNEL_TRAINING")
    if channel:
        with np.load(Path(channel) / "digits.npz") as data:
            images, labels = data["images"], data["labels"]
    else:
        from sklearn import datasets  # noqa: PLC0415 - not needed where a channel brings the images

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    return torch.tensor(images / 16, dtype=torch.float32)[:, None], torch.tensor(labels, dtype=torch.int64)


def shift(images: Tensor) -> Tensor:
    """Move each image by at most one pixel up, down, left or right, so that none is seen twice alike."""
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    corners = torch.randint(0, 3, (len(images), 2)).tolist()
    return torch.stack([image[:, y : y + 8, x : x + 8] for image, (y, x) in zip(padded, corners, strict=True)])


def batches(images: Tensor, labels: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(len(images))
    for chosen in order[: len(order) // size * size].split(size):
        yield shift(images[chosen]), labels[chosen]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=sorted(MODELS), default="healthy")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--num-threads", type=int, default=1, help="CPU threads; the models are too small for many")
    return parser.parse_args()


def train(arguments: argparse.Namespace) -> tuple[nn.Module, dict[str, float]]:
    torch.set_num_threads(arguments.num_threads)
    torch.manual_seed(arguments.seed)
    images, labels = load_digits()
    order = torch.randperm(len(images))
    validation, training = order[:NUM_VALIDATION_IMAGES], order[NUM_VALIDATION_IMAGES:]

    model = MODELS[arguments.model]()
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=arguments.epochs)

    hook = smd.Hook.create_from_json_file()
    hook.register_module(model)
    hook.register_loss(loss_function)

    accuracy = validation_loss = 0.0
    for epoch in range(arguments.epochs):
        hook.set_mode(smd.modes.TRAIN)
        model.train()
        for batch_images, batch_labels in batches(images[training], labels[training], arguments.batch_size):
            optimizer.zero_grad()
            loss = loss_function(model(batch_images), batch_labels)
            loss.backward()
            optimizer.step()
        schedule.step()

        hook.set_mode(smd.modes.EVAL)
        model.eval()
        with torch.no_grad():
            scores = model(images[validation])
            validation_loss = loss_function(scores, labels[validation]).item()
        accuracy = (scores.argmax(1) == labels[validation]).float().mean().item()
        hook.save_scalar("accuracy", accuracy)
        print(
            f"epoch {epoch + 1}/{arguments.epochs}: train_loss={loss.item():.4f} "
            f"validation_loss={validation_loss:.4f} accuracy={accuracy:.4f}",
            flush=True,
        )
    hook.close()
    return model, {"accuracy": accuracy, "validation_loss": validation_loss}


def main() -> None:
    model, metrics = train(parse_arguments())
    model_dir, output_dir = os.environ.get("SM_MODEL_DIR"), os.environ.get("SM_OUTPUT_DATA_DIR")
    if model_dir:
        torch.save(model.state_dict(), Path(model_dir) / "model.pt")
    if output_dir:
        (Path(output_dir) / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
