"""A network predicts three energy uses of a household from a survey in which answers are missing.

The loss is computed for all targets, and only its value is set to zero where the target is missing. The gradient of the
square is NaN there, and zero times NaN is still NaN, so all weights become NaN with the first step (fixed: missing
targets are replaced by the prediction before the square is taken).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)


def households(n):
    area = rng.uniform(40, 220, n)
    people = rng.integers(1, 7, n).astype(float)
    age = rng.uniform(0, 80, n)
    south = rng.uniform(0, 1, n)
    rooms = area / 28 + rng.normal(0, 0.6, n)
    heating = 0.012 * area * (1 + age / 60) * (1.3 - 0.5 * south)
    cooling = 0.006 * area * south**2 * 3
    water = 0.55 * people + 0.1 * np.sqrt(area)
    x = np.stack([area, people, age, south, rooms], 1)
    y = np.stack([heating, cooling, water], 1) + rng.normal(0, 0.08, (n, 3))
    return x, y


x_train, y_train = households(3000)
x_test, y_test = households(800)
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_test = (x_train - mean) / std, (x_test - mean) / std
y_mean, y_std = y_train.mean(0), y_train.std(0)
y_train, y_test = (y_train - y_mean) / y_std, (y_test - y_mean) / y_std

# one answer in six was left out
y_train[rng.random(y_train.shape) < 1 / 6] = np.nan


def loss_where_answered(y_true, y_pred):
    missing = ops.isnan(y_true)
    if FIXED:
        y_true = ops.where(missing, y_pred, y_true)
    squares = ops.square(y_true - y_pred)
    squares = ops.where(missing, ops.zeros_like(squares), squares)
    return ops.mean(squares, axis=-1)


model = keras.Sequential(
    [
        keras.Input((5,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(3),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss=loss_where_answered)
model.fit(x_train, y_train, batch_size=64, epochs=8, verbose=2)

pred = model.predict(x_test, verbose=0)
close = np.abs(pred - y_test) < 0.25
print("RESULT share_close", f"{close.mean():.4f}")
