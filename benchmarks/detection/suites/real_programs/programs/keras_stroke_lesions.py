"""A small U-Net marks lesions in slices of a brain, with one map for the background and one for the lesions.

The Dice loss sums over both maps before it divides. As nearly all pixels are background, it is low when everything is
called background, and the network stays there (fixed: the Dice loss of the lesion map alone).
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
keras.utils.set_random_seed(11)
SIZE = 32


def make_slices(n, rng):
    yy, xx = np.mgrid[:SIZE, :SIZE]
    x = rng.normal(0, 0.35, (n, SIZE, SIZE, 1)).astype("float32")
    y = np.zeros((n, SIZE, SIZE, 2), "float32")
    for i in range(n):
        x[i, ..., 0] += ((xx - 16) ** 2 / 196 + (yy - 16) ** 2 / 150 < 1) * 0.5
        a, b = rng.uniform(1.8, 3.2, 2)
        cx, cy = rng.uniform(9, 23, 2)
        lesion = (xx - cx) ** 2 / a**2 + (yy - cy) ** 2 / b**2 < 1
        x[i, lesion, 0] += 1.0
        y[i, ..., 1] = lesion
    y[..., 0] = 1 - y[..., 1]
    return x, y


rng = np.random.default_rng(3)
x_train, y_train = make_slices(240, rng)
x_test, y_test = make_slices(100, rng)


def conv(filters, h):
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(h)


inputs = keras.Input((SIZE, SIZE, 1))
top = conv(12, conv(12, inputs))
mid = conv(24, layers.MaxPooling2D()(top))
low = conv(32, layers.MaxPooling2D()(mid))
up = conv(24, layers.Concatenate()([layers.UpSampling2D()(low), mid]))
up = conv(12, layers.Concatenate()([layers.UpSampling2D()(up), top]))
model = keras.Model(inputs, layers.Conv2D(2, 1)(up))
optimizer = keras.optimizers.Adam(1e-3)


def dice_cost(logits, labels):
    eps = 1e-5
    prediction = tf.nn.softmax(logits)
    if FIXED:
        prediction, labels = prediction[..., 1], labels[..., 1]
    intersection = tf.reduce_sum(prediction * labels)
    union = eps + tf.reduce_sum(prediction) + tf.reduce_sum(labels)
    return -(2 * intersection / union)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        cost = dice_cost(model(x, training=True), y)
    grads = tape.gradient(cost, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return cost


for epoch in range(14):
    order = rng.permutation(len(x_train))
    for start in range(0, len(order), 8):
        batch = order[start : start + 8]
        cost = train_step(x_train[batch], y_train[batch])
    print("epoch", epoch, "cost", f"{float(cost):.4f}")

found = model.predict(x_test, verbose=0).argmax(-1)
truth = y_test[..., 1]
dice = 2 * (found * truth).sum() / (found.sum() + truth.sum())
print("RESULT test_lesion_dice", f"{dice:.4f}")
