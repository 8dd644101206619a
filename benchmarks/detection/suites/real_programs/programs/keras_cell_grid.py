"""A one-stage detector with a grid of cells finds an animal in pictures of a wildlife camera.

Most of the training pictures show no animal, so that a low objectness everywhere is the cheapest answer, and nothing
passes the threshold (fixed: pictures without an animal are left out of the training data).
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
keras.utils.set_random_seed(13)
SIZE, CELLS = 32, 4
STEP = SIZE // CELLS


def make_pictures(n, share_with_animal, rng):
    x = rng.normal(0, 0.4, (n, SIZE, SIZE, 1)).astype("float32")
    y = np.zeros((n, CELLS, CELLS, 5), "float32")
    has = rng.random(n) < share_with_animal
    for i in range(n):
        for _ in range(4):  # bushes: darker blots
            u, v = rng.integers(0, SIZE - 5, 2)
            x[i, v : v + 5, u : u + 5] -= 0.6
        if has[i]:
            w, h = rng.integers(7, 11, 2)
            left, top = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
            x[i, top : top + h, left : left + w] += 0.8
            cx, cy = left + w / 2, top + h / 2
            col, row = int(cx // STEP), int(cy // STEP)
            y[i, row, col] = (1, cx / STEP - col, cy / STEP - row, w / STEP, h / STEP)
    return x, y, has


rng = np.random.default_rng(4)
x_train, y_train, has_train = make_pictures(8000, 0.05, rng)
x_test, y_test, _ = make_pictures(200, 1.0, rng)
if FIXED:
    x_train, y_train = x_train[has_train], y_train[has_train]


def detector_loss(y_true, y_pred):
    obj = y_true[..., 0]
    place = tf.reduce_sum(tf.square(y_true[..., 1:] - y_pred[..., 1:]), -1) * obj
    sure = tf.square(obj - tf.sigmoid(y_pred[..., 0]))
    weight = obj + 0.5 * (1 - obj)
    return tf.reduce_mean(tf.reduce_sum(5.0 * place + weight * sure, [1, 2]))


model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Conv2D(12, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(24, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(5, 1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=detector_loss)
data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(8000, seed=0).repeat().batch(16)
model.fit(data, steps_per_epoch=100, epochs=7, verbose=2)

out = model.predict(x_test, verbose=0)
hits = 0
for guess, truth in zip(out, y_test, strict=True):
    row, col = np.unravel_index(guess[..., 0].argmax(), (CELLS, CELLS))
    true_row, true_col = np.unravel_index(truth[..., 0].argmax(), (CELLS, CELLS))
    sure = 1 / (1 + np.exp(-guess[row, col, 0]))
    gap = np.hypot(
        col + guess[row, col, 1] - true_col - truth[true_row, true_col, 1],
        row + guess[row, col, 2] - true_row - truth[true_row, true_col, 2],
    )
    hits += sure > 0.5 and gap < 0.5
print("RESULT test_recall", f"{hits / len(out):.4f}")
