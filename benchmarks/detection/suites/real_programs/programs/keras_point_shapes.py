"""A small PointNet tells five kinds of bodies apart by clouds of points.

The clouds go in as they were scanned, each at a place and of a size of its own, which outweigh the shape, so that the
accuracy stays low (fixed: each cloud is centred and scaled into the unit sphere).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(4)

rng = np.random.default_rng(4)
POINTS = 64


def body(kind):
    u = rng.uniform(0, 2 * np.pi, POINTS)
    v = rng.uniform(-1, 1, POINTS)
    if kind == 0:  # ball
        r = np.sqrt(1 - v**2)
        p = np.stack([r * np.cos(u), r * np.sin(u), v], 1)
    elif kind == 1:  # cube
        p = rng.uniform(-1, 1, (POINTS, 3))
        side = rng.integers(0, 3, POINTS)
        p[np.arange(POINTS), side] = rng.choice([-1, 1], POINTS)
    elif kind == 2:  # pipe
        p = np.stack([0.5 * np.cos(u), 0.5 * np.sin(u), v], 1)
    elif kind == 3:  # cone
        r = np.sqrt(rng.uniform(0, 1, POINTS))
        p = np.stack([r * np.cos(u), r * np.sin(u), 1 - 2 * r], 1)
    else:  # ring
        w = rng.uniform(0, 2 * np.pi, POINTS)
        r = 1 + 0.3 * np.cos(w)
        p = np.stack([r * np.cos(u), r * np.sin(u), 0.3 * np.sin(w)], 1)
    return p + rng.normal(0, 0.02, p.shape)


def make(n):
    y = rng.integers(0, 5, n)
    x = np.stack([body(k) * rng.uniform(2, 15) + rng.uniform(-100, 100, 3) for k in y])
    return x.astype("float32"), y


def unit_sphere(x):
    x = x - x.mean(axis=1, keepdims=True)
    return x / np.linalg.norm(x, axis=2).max(axis=1)[:, None, None]


X_train, y_train = make(1500)
X_test, y_test = make(400)
if FIXED:
    X_train, X_test = unit_sphere(X_train), unit_sphere(X_test)

points = keras.Input((POINTS, 3))
x = points
for width in (32, 64, 128):
    x = layers.Conv1D(width, 1, activation="relu")(x)
x = layers.GlobalMaxPooling1D()(x)
x = layers.Dense(64, activation="relu")(x)
x = layers.Dropout(0.2)(x)
model = keras.Model(points, layers.Dense(5, activation="softmax")(x))
model.compile(optimizer=keras.optimizers.Adam(0.001), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=32, epochs=12, validation_data=(X_test, y_test), verbose=2)

print("RESULT test_accuracy", f"{model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
