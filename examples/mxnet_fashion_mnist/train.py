"""Train a classifier of clothes with MXNet, with its tensors captured.

The script trains on Fashion-MNIST, in the four files of the original data set. It looks for them in the folder that the
environment variable SM_CHANNEL_TRAINING names, and where Debian's package `dataset-fashion-mnist` puts them; where it
finds none it generates images of ten simple patterns and says so. It is an ordinary script for a SageMaker training
job with a hook; the job's hook configuration file selects tensors and steps.

To run it elsewhere, create such a file, set the environment variable to its path, and start the script:

    echo '{"LocalPath": "/tmp/clothes", "HookParameters": {"save_interval": "10"}}' > hook.json
    SMDEBUG_CONFIG_FILE_PATH=hook.json python train.py --epochs 1
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from pathlib import Path

import mxnet as mx
import numpy as np
import numpy.typing as npt
from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd

Images = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int32]

DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
NUM_CLASSES = 10
NUM_PIXELS = 28
HEADER_BYTES = {"images-idx3": 16, "labels-idx1": 8}


def find_images() -> Path | None:
    """Return the folder with the files of Fashion-MNIST, if there is one."""
    for folder in (os.environ.get("SM_CHANNEL_TRAINING"), DEBIAN_FOLDER):
        if folder and (Path(folder) / "train-images-idx3-ubyte.gz").is_file():
            return Path(folder)
    return None


def read_file(folder: Path, part: str, kind: str, count: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of the first `count` images or labels."""
    size = NUM_PIXELS * NUM_PIXELS if kind.startswith("images") else 1
    with gzip.open(folder / f"{part}-{kind}-ubyte.gz") as file:
        file.read(HEADER_BYTES[kind])
        return np.frombuffer(file.read(count * size), np.uint8)


def load_part(folder: Path, part: str, count: int) -> tuple[Images, Labels]:
    """Return images, scaled to 0..1 with one channel, and their labels."""
    images = read_file(folder, part, "images-idx3", count).reshape(-1, 1, NUM_PIXELS, NUM_PIXELS)
    labels = read_file(folder, part, "labels-idx1", count)
    return (images / 255).astype(np.float32), labels.astype(np.int32)


def generate(count: int, seed: int) -> tuple[Images, Labels]:
    """Return noisy images of ten patterns: waves of five directions and two lengths."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, NUM_CLASSES, count)
    angle = (labels % 5 * np.pi / 5)[:, None, None]
    length = np.where(labels < 5, 0.4, 1.0)[:, None, None]
    y, x = np.mgrid[:NUM_PIXELS, :NUM_PIXELS]
    phase = random.uniform(0, 2 * np.pi, (count, 1, 1))
    waves = np.sin((x * np.cos(angle) + y * np.sin(angle)) * length + phase)
    noisy = waves + random.normal(0, 0.5, waves.shape)
    return (noisy[:, None] / 4 + 0.5).clip(0, 1).astype(np.float32), labels.astype(np.int32)


def load(num_train: int, num_test: int) -> tuple[tuple[Images, Labels], tuple[Images, Labels]]:
    """Return what to train on, and what to test with."""
    folder = find_images()
    if folder is None:
        print("images: generated, as Fashion-MNIST is not installed", flush=True)
        return generate(num_train, seed=1), generate(num_test, seed=2)
    print(f"images: Fashion-MNIST in {folder}", flush=True)
    return load_part(folder, "train", num_train), load_part(folder, "t10k", num_test)


def make_net() -> nn.HybridSequential:
    """Return a small convolutional network."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(channels=6, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(channels=16, kernel_size=3, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Flatten(),
        nn.Dense(120, activation="relu"),
        nn.Dense(84, activation="relu"),
        nn.Dense(NUM_CLASSES),
    )
    return net


def measure_accuracy(net: gluon.Block, loss: gluon.Block, images: Images, labels: Labels) -> float:
    """Return the share of images that the network knows, in one forward pass."""
    scores = net(mx.nd.array(images))
    loss(scores, mx.nd.array(labels))
    return float((scores.argmax(axis=1).asnumpy() == labels).mean())


def train(arguments: argparse.Namespace) -> tuple[gluon.Block, float]:
    """Train a network; return it and its accuracy on the test images."""
    mx.random.seed(arguments.seed)
    np.random.seed(arguments.seed)  # MXNet's initialisers draw from it
    (images, labels), (test_images, test_labels) = load(arguments.train_images, arguments.test_images)
    dataset = gluon.data.ArrayDataset(images, labels)
    batches = gluon.data.DataLoader(dataset, batch_size=arguments.batch_size, shuffle=True, last_batch="discard")

    net = make_net()
    net.initialize(mx.init.Xavier())
    if arguments.hybridize:
        net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": arguments.learning_rate})

    hook = smd.Hook.create_from_json_file()
    hook.register_block(net)
    hook.register_block(loss)

    accuracy = 0.0
    for epoch in range(arguments.epochs):
        hook.set_mode(smd.modes.TRAIN)
        for data, label in batches:
            with autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(arguments.batch_size)

        hook.set_mode(smd.modes.EVAL)
        accuracy = measure_accuracy(net, loss, test_images, test_labels)
        hook.save_scalar("accuracy", accuracy)
        print(
            f"epoch {epoch + 1}/{arguments.epochs}: train_loss={value.mean().asscalar():.4f} accuracy={accuracy:.4f}",
            flush=True,
        )
    hook.close()
    return net, accuracy


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--train-images", type=int, default=6000)
    parser.add_argument("--test-images", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hybridize", type=int, choices=(0, 1), default=1, help="run the network as one graph")
    return parser.parse_args()


def main() -> None:
    net, accuracy = train(parse_arguments())
    model_dir, output_dir = os.environ.get("SM_MODEL_DIR"), os.environ.get("SM_OUTPUT_DATA_DIR")
    if model_dir:
        net.save_parameters(str(Path(model_dir) / "net.params"))
    if output_dir:
        (Path(output_dir) / "metrics.json").write_text(json.dumps({"accuracy": accuracy}))


if __name__ == "__main__":
    main()
