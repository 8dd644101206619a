"""A squared error in grams outweighs the cross-entropy of the other output (fixed: it is given a weight of 0.0001)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
rows, columns = np.mgrid[:24, :24]


def parts(n):
    images, kinds, weights = [], [], []
    for _ in range(n):
        kind = rng.integers(0, 4)
        cy, cx, r = rng.integers(10, 14), rng.integers(10, 14), rng.integers(5, 10)
        dy, dx = np.abs(rows - cy), np.abs(columns - cx)
        shape = [
            (dy <= r) & (dx <= r),
            dy**2 + dx**2 <= r * r,
            dy + dx <= r,
            (dy**2 + dx**2 <= r * r) & (dy**2 + dx**2 >= (r - 3) ** 2),
        ][kind]
        images.append(shape * rng.uniform(0.7, 1.0) + rng.normal(0, 0.1, (24, 24)))
        kinds.append(kind)
        weights.append(shape.sum() * 2.5 + rng.normal(0, 5))
    return np.array(images, "float32")[..., None], np.array(kinds), np.array(weights, "float32")


x_train, kind_train, weight_train = parts(1500)
x_test, kind_test, weight_test = parts(300)

inputs = keras.Input(shape=(24, 24, 1))
x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
x = layers.Flatten()(x)
x = layers.Dense(64, activation="relu")(x)
kind_out = layers.Dense(4, activation="softmax", name="kind")(x)
weight_out = layers.Dense(1, name="weight")(x)

model = keras.Model(inputs, {"kind": kind_out, "weight": weight_out})
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss={"kind": "sparse_categorical_crossentropy", "weight": "mse"},
    loss_weights={"kind": 1.0, "weight": 1e-4} if fixed else None,
    metrics={"kind": "accuracy", "weight": "mae"},
)
history = model.fit(
    x_train,
    {"kind": kind_train, "weight": weight_train},
    epochs=12,
    batch_size=50,
    verbose=0,
    validation_data=(x_test, {"kind": kind_test, "weight": weight_test}),
)

print("RESULT val_kind_acc", history.history["val_kind_accuracy"][-1])
