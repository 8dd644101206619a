"""A dense network sorts grey pictures of generated clothes into ten classes.

The pixels go into the network as they are stored, from 0 to 255 (fixed: divided by 255).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(7)


def smooth(field, times):
    for _ in range(times):
        field = (
            field + np.roll(field, 1, -1) + np.roll(field, -1, -1) + np.roll(field, 1, -2) + np.roll(field, -1, -2)
        ) / 5
    return field


def make_images(n, templates):
    labels = rng.integers(0, 10, n)
    images = templates[labels]
    images = images + 1.6 * smooth(rng.normal(size=(n, 28, 28)), 6) / 0.15
    mask = images > 0.0
    texture = 150 + 40 * rng.normal(size=(n, 1, 1)) + 25 * rng.normal(size=(n, 28, 28))
    images = np.where(mask, np.clip(texture, 10, 255), 0)
    shift = rng.integers(-1, 2, (n, 2))
    images = np.stack([np.roll(im, s, (0, 1)) for im, s in zip(images, shift, strict=True)])
    return images.astype("uint8"), labels


templates = smooth(rng.normal(size=(10, 28, 28)), 12)
templates = templates / templates.std((1, 2), keepdims=True)
x_train, y_train = make_images(9000, templates)
x_test, y_test = make_images(1500, templates)

x_train = x_train.reshape(-1, 784).astype("float32")
x_test = x_test.reshape(-1, 784).astype("float32")
if FIXED:
    x_train /= 255
    x_test /= 255
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential(
    [
        keras.Input((784,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(
    x_train,
    y_train,
    epochs=10,
    batch_size=64,
    validation_split=0.1,
    verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(patience=3)],
)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("test loss", loss)
print("RESULT test_accuracy", f"{accuracy:.4f}")
