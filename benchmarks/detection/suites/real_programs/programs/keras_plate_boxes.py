"""A small detector with anchors on two feature maps finds the number plate in pictures of cars.

The annotations give the upper left corner of a plate, and the parser takes it for the centre, so that the boxes in
training lie half a plate too far up and to the left (fixed: the parser adds half of the width and height).
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
keras.utils.set_random_seed(5)
SIZE = 36


def make_cars(n, rng):
    images = rng.normal(0.0, 0.15, (n, SIZE, SIZE, 1)).astype("float32")
    boxes = []
    for i in range(n):
        images[i] += rng.uniform(-0.2, 0.2)
        w, h = rng.integers(11, 17), rng.integers(8, 12)
        x, y = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
        images[i, y : y + h, x : x + w] += 0.7
        images[i, y + 3 : y + h - 3 : 2, x + 2 : x + w - 2] -= 0.7
        boxes.append((x, y, w, h))
    return images, np.array(boxes, "float32")


def parse_annotations(rows):
    """Turn rows into x and y of the centre, width and height."""
    boxes = rows.copy()
    if FIXED:
        boxes[:, 0] += rows[:, 2] / 2
        boxes[:, 1] += rows[:, 3] / 2
    return boxes


def grid(step, w, h):
    c = (np.arange(SIZE // step) + 0.5) * step
    y, x = np.meshgrid(c, c, indexing="ij")
    return np.stack([x.ravel(), y.ravel(), np.full(x.size, w), np.full(x.size, h)], 1)


ANCHORS = np.concatenate([grid(6, 12.0, 9.0), grid(12, 15.0, 10.0)]).astype("float32")


def to_corners(b):
    return np.concatenate([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


def overlap(a, b):
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    inter = np.prod(np.clip(high - low, 0, None), -1)
    return inter / (np.prod(a[..., 2:] - a[..., :2], -1) + np.prod(b[..., 2:] - b[..., :2], -1) - inter)


def match(boxes):
    iou = overlap(to_corners(ANCHORS)[None], to_corners(boxes)[:, None])
    positive = iou >= 0.5
    positive[np.arange(len(boxes)), iou.argmax(1)] = True
    shift = (boxes[:, None, :2] - ANCHORS[None, :, :2]) / ANCHORS[None, :, 2:]
    scale = np.log(boxes[:, None, 2:] / ANCHORS[None, :, 2:])
    return positive.astype("float32"), np.concatenate([shift, scale], -1).astype("float32")


rng = np.random.default_rng(1)
x_train, rows_train = make_cars(1000, rng)
x_test, rows_test = make_cars(200, rng)
positive, target = match(parse_annotations(rows_train))

inputs = keras.Input((SIZE, SIZE, 1))
h = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
h = layers.Conv2D(24, 3, strides=3, padding="same", activation="relu")(h)
fine = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
coarse = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(fine)
heads = [layers.Reshape((-1, 5))(layers.Conv2D(5, 3, padding="same")(feature)) for feature in (fine, coarse)]
model = keras.Model(inputs, layers.Concatenate(axis=1)(heads))
optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, 1300))

data = tf.data.Dataset.from_tensor_slices((x_train, positive, target)).shuffle(1000, seed=0).batch(20)


@tf.function
def train_step(x, pos, box):
    with tf.GradientTape() as tape:
        out = model(x, training=True)
        conf = tf.nn.sigmoid_cross_entropy_with_logits(pos, out[:, :, 0])
        gap = tf.abs(out[:, :, 1:] - box)
        loc = tf.reduce_sum(tf.where(gap < 1.0, 0.5 * gap**2, gap - 0.5), -1)
        loss = (tf.reduce_sum(conf) + 2.0 * tf.reduce_sum(loc * pos)) / tf.reduce_sum(pos)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(26):
    for batch in data:
        loss = train_step(*batch)
    print("epoch", epoch, "loss", f"{float(loss):.4f}")

out = model.predict(x_test, verbose=0)
best = out[:, :, 0].argmax(1)
off = out[np.arange(len(out)), best, 1:]
anchor = ANCHORS[best]
found = np.concatenate([anchor[:, :2] + off[:, :2] * anchor[:, 2:], anchor[:, 2:] * np.exp(off[:, 2:])], 1)
truth = np.concatenate([rows_test[:, :2], rows_test[:, :2] + rows_test[:, 2:]], 1)  # upper left, lower right
print("RESULT test_mean_iou", f"{overlap(to_corners(found), truth).mean():.4f}")
