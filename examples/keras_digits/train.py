"""Train a classifier of handwritten digits with Keras, with its tensors captured.

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
from pathlib import Path

import keras
import numpy as np
from keras import layers

import sagemaker_debug_ext.tensorflow as smd

NUM_CLASSES = 10
NUM_VALIDATION_IMAGES = 360


def conv_net() -> keras.Model:
    """Two convolutions and a linear layer; learns the digits well."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu", name="conv1"),
            layers.MaxPooling2D(name="pool1"),
            layers.Conv2D(64, 3, padding="same", activation="relu", name="conv2"),
            layers.MaxPooling2D(name="pool2"),
            layers.Flatten(name="flatten"),
            layers.Dropout(0.5, name="dropout"),
            layers.Dense(NUM_CLASSES, activation="softmax", name="scores"),
        ]
    )


def deep_sigmoid_net(num_layers: int = 20, width: int = 64) -> keras.Model:
    """Twenty sigmoid layers: each shrinks the gradient on its way back, so the first ones learn nothing."""
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(name="flatten")])
    for number in range(num_layers):
        model.add(layers.Dense(width, activation="sigmoid", name=f"fc{number}"))
    model.add(layers.Dense(NUM_CLASSES, activation="softmax", name="scores"))
    return model


MODELS = {"healthy": conv_net, "vanishing": deep_sigmoid_net}


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return all images, scaled to 0..1 with one channel, and their labels."""
    channel = os.environ.get("SM_CHANNEL_TRAINING")
    if channel:
        with np.load(Path(channel) / "digits.npz") as data:
            images, labels = data["images"], data["labels"]
    else:
        from sklearn import datasets  # noqa: PLC0415 - not needed where a channel brings the images

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    return (images / 16).astype("float32")[..., None], labels.astype("int64")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=sorted(MODELS), default="healthy")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def train(arguments: argparse.Namespace) -> tuple[keras.Model, dict[str, float]]:
    keras.utils.set_random_seed(arguments.seed)
    images, labels = load_digits()
    order = np.random.permutation(len(images))
    validation, training = order[:NUM_VALIDATION_IMAGES], order[NUM_VALIDATION_IMAGES:]

    model = MODELS[arguments.model]()
    model.compile(
        keras.optimizers.Adam(arguments.learning_rate), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    hook = smd.KerasHook.create_from_json_file()
    history = model.fit(
        images[training],
        labels[training],
        batch_size=arguments.batch_size,
        epochs=arguments.epochs,
        validation_data=(images[validation], labels[validation]),
        verbose=2,
        callbacks=[hook],
    )
    hook.close()
    return model, {name: values[-1] for name, values in history.history.items()}


def main() -> None:
    model, metrics = train(parse_arguments())
    model_dir, output_dir = os.environ.get("SM_MODEL_DIR"), os.environ.get("SM_OUTPUT_DATA_DIR")
    if model_dir:
        model.save(Path(model_dir) / "model.keras")
    if output_dir:
        (Path(output_dir) / "metrics.json").write_text(json.dumps(metrics))


if __name__ == "__main__":
    main()
