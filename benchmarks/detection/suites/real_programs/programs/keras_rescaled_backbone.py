"""A frozen network gets a new head that tells two new kinds of parts apart.

The network was trained on pictures prepared by its own preprocess_input, but the new head is trained and tested on
pictures that are only divided by 255, and to the frozen network all of these look nearly the same
(fixed: preprocess_input in place of the division).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SIZE = 20


def picture(kind):
    r, c = np.mgrid[0:SIZE, 0:SIZE]
    y, x = rng.uniform(7, 12, 2)
    s = rng.uniform(4, 6)
    dy, dx = np.abs(r - y), np.abs(c - x)
    form = [
        (dy**2 + dx**2 < s**2),  # disc
        (np.maximum(dy, dx) < s * 0.85),  # square
        (np.minimum(dy, dx) < 1.3) & (np.maximum(dy, dx) < s),  # cross
        (dy < 1.6) & (dx < s),  # bar
        (np.abs(np.hypot(dy, dx) - s) < 1.2),  # ring
        (np.abs(np.maximum(dy, dx) - s * 0.85) < 1.1),  # frame
    ][kind]
    image = rng.uniform(108, 122) + rng.uniform(22, 38) * form + rng.normal(0, 5, (SIZE, SIZE))
    return np.clip(image, 0, 255)[..., None]


def pictures(kinds, n):
    labels = rng.integers(0, len(kinds), n)
    return np.stack([picture(kinds[k]) for k in labels]).astype("float32"), labels


def preprocess_input(x):
    return (x - 121.0) / 15.0


# the network, trained on four kinds of parts
inputs = keras.Input((SIZE, SIZE, 1))
x = inputs
for filters in (16, 32):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    x = layers.ReLU()(x)
    x = layers.MaxPooling2D()(x)
x = layers.Conv2D(32, 3, activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
backbone = keras.Model(inputs, x)
source = keras.Sequential([backbone, layers.Dense(4, activation="softmax")])
source.compile(optimizer=keras.optimizers.Adam(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
xs, ys = pictures([0, 1, 2, 3], 1200)
source.fit(preprocess_input(xs), ys, batch_size=64, epochs=6, verbose=2)

# a new head on it for two other kinds
backbone.trainable = False
head_in = keras.Input((SIZE, SIZE, 1))
features = backbone(head_in, training=False)
model = keras.Model(head_in, layers.Dense(1, activation="sigmoid")(features))
model.compile(optimizer=keras.optimizers.Adam(0.02), loss="binary_crossentropy", metrics=["accuracy"])
x_train, y_train = pictures([4, 5], 600)
x_test, y_test = pictures([4, 5], 600)
if FIXED:
    x_train, x_test = preprocess_input(x_train), preprocess_input(x_test)
else:
    x_train, x_test = x_train / 255.0, x_test / 255.0
model.fit(x_train, y_train, batch_size=32, epochs=8, verbose=2)

acc = model.evaluate(x_test, y_test, verbose=0)[1]
print("RESULT test_accuracy", f"{acc:.4f}")
