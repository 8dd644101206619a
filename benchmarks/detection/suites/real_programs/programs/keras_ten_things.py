"""A CNN sorts pictures into ten categories from a collection of 300.

It is large, with neither dropout nor augmentation, and learns the pictures by heart (fixed: pooling, dropout, shifted
and noisy pictures).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(15)
tf.config.experimental.enable_op_determinism()
S = 20

digits = load_digits()
rng = np.random.default_rng(3)
order = rng.permutation(len(digits.images))


def place(img):
    big = np.kron(img / 16.0, np.ones((2, 2)))[1:15, 1:15]
    pic = rng.uniform(0, 0.3, (S, S))
    a, b = rng.integers(0, S - 14 + 1, 2)
    pic[a : a + 14, b : b + 14] = np.maximum(pic[a : a + 14, b : b + 14], big)
    return pic


N_TRAIN = 300
X = np.stack([place(digits.images[k]) for k in order[: N_TRAIN + 600]])[..., None].astype("float32")
y = digits.target[order[: N_TRAIN + 600]]
Xv, yv, X, y = X[N_TRAIN:], y[N_TRAIN:], X[:N_TRAIN], y[:N_TRAIN]


def batches(batch_size=32):
    g = np.random.default_rng(0)
    while True:
        p = g.permutation(len(X))
        for k in range(0, len(X) - batch_size + 1, batch_size):
            xb, yb = X[p[k : k + batch_size]].copy(), y[p[k : k + batch_size]]
            if fixed:
                for j in range(len(xb)):
                    xb[j] = np.roll(xb[j], g.integers(-5, 6, 2), axis=(0, 1))
                xb += g.normal(0, 0.05, xb.shape)
            yield xb, yb


model = keras.Sequential([keras.Input((S, S, 1))])
if fixed:
    model.add(layers.Conv2D(16, 3, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.3))
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dropout(0.2))
else:
    model.add(layers.Conv2D(16, 3, activation="relu"))
    model.add(layers.Flatten())
    model.add(layers.Dense(256, activation="relu"))
    model.add(layers.Dense(128, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))
model.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=keras.optimizers.Adam(2e-3 if fixed else 1e-3),
    metrics=["accuracy"],
)
h = model.fit(batches(), steps_per_epoch=len(X) // 32, epochs=60 if fixed else 40, validation_data=(Xv, yv), verbose=2)
print("train accuracy", h.history["accuracy"][-1])
print("RESULT val_accuracy", round(float(h.history["val_accuracy"][-1]), 4))
