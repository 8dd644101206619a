"""A small single-shot detector finds objects of one kind, with a confidence and a box for each cell of a grid.

The only class has the number 0, which the detector keeps for the background, so that no cell is positive. Three
negatives are drawn for each positive, which makes none, and the loss is 0 from the first step on (fixed: the class has
the number 1).
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
keras.utils.set_random_seed(6)

SIZE, GRID = 32, 4
CELL = SIZE // GRID
N_CLASSES = 2  # background and object
CLASS_ID = 1 if FIXED else 0

rng = np.random.default_rng(6)


def make(n):
    images = rng.uniform(0, 0.4, (n, SIZE, SIZE, 1)).astype("float32")
    objects = np.zeros((n, 5), "float32")  # class, centre x, centre y, width, height
    for i in range(n):
        w, h = rng.integers(7, 15, 2)
        x, y = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
        images[i, y : y + h, x : x + w] += 0.5
        objects[i] = CLASS_ID, x + w / 2, y + h / 2, w, h
    return images, objects


def encode(objects):
    target = np.zeros((len(objects), GRID, GRID, N_CLASSES + 4), "float32")
    target[..., 0] = 1
    for t, (class_id, cx, cy, w, h) in zip(target, objects, strict=True):
        col, row = int(cx // CELL), int(cy // CELL)
        t[row, col, :N_CLASSES] = np.eye(N_CLASSES)[int(class_id)]
        t[row, col, N_CLASSES:] = cx / CELL - col - 0.5, cy / CELL - row - 0.5, np.log(w / CELL), np.log(h / CELL)
    return target.reshape(len(objects), GRID * GRID, N_CLASSES + 4)


def ssd_loss(y_true, y_pred):
    log_loss = -tf.reduce_sum(y_true[..., :N_CLASSES] * tf.math.log(tf.maximum(y_pred[..., :N_CLASSES], 1e-15)), -1)
    d = tf.abs(y_true[..., N_CLASSES:] - y_pred[..., N_CLASSES:])
    smooth_l1 = tf.reduce_sum(tf.where(d < 1, 0.5 * d**2, d - 0.5), -1)
    negatives = y_true[..., 0]
    positives = tf.reduce_max(y_true[..., 1:N_CLASSES], -1)
    n_positive = tf.reduce_sum(positives)
    # Only the hardest of the negatives count, three for each positive.
    n_keep = tf.minimum(3 * tf.cast(n_positive, tf.int32), tf.cast(tf.reduce_sum(negatives), tf.int32))
    hardest = tf.sort(tf.reshape(log_loss * negatives, [-1]), direction="DESCENDING")[:n_keep]
    total = tf.reduce_sum(log_loss * positives) + tf.reduce_sum(hardest) + tf.reduce_sum(smooth_l1 * positives)
    return total / tf.maximum(1.0, n_positive)


train_images, train_objects = make(2000)
test_images, test_objects = make(200)

image = keras.Input((SIZE, SIZE, 1))
x = image
for width in (16, 32, 32):
    x = layers.Conv2D(width, 5, strides=2, padding="same", activation="relu")(x)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
confidence = layers.Softmax()(layers.Reshape((-1, N_CLASSES))(layers.Conv2D(N_CLASSES, 3, padding="same")(x)))
offsets = layers.Reshape((-1, 4))(layers.Conv2D(4, 3, padding="same")(x))
model = keras.Model(image, layers.Concatenate()([confidence, offsets]))
model.compile(optimizer=keras.optimizers.Adam(0.002), loss=ssd_loss)
model.fit(train_images, encode(train_objects), batch_size=16, epochs=15, verbose=2)


def decode(prediction):
    cell = prediction[:, 1].argmax()
    row, col = divmod(cell, GRID)
    dx, dy, w, h = prediction[cell, N_CLASSES:]
    return (col + 0.5 + dx) * CELL, (row + 0.5 + dy) * CELL, np.exp(w) * CELL, np.exp(h) * CELL


def overlap(a, b):
    side = [
        max(0.0, min(a[i] + a[i + 2] / 2, b[i] + b[i + 2] / 2) - max(a[i] - a[i + 2] / 2, b[i] - b[i + 2] / 2))
        for i in (0, 1)
    ]
    inter = side[0] * side[1]
    return inter / (a[2] * a[3] + b[2] * b[3] - inter)


ious = [overlap(decode(p), o[1:]) for p, o in zip(model.predict(test_images, verbose=0), test_objects, strict=True)]
print("RESULT test_mean_iou", f"{np.mean(ious):.4f}")
