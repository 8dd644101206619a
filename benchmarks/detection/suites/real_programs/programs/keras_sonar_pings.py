"""A sonar network's moving averages at a momentum of 0.99 lag after some dozens of updates (fixed: momentum of 0.8)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)


def pings(n):
    y = rng.integers(0, 2, n)
    x = rng.gamma(2.0, 0.15, (n, 16, 16, 1))
    for i, c in enumerate(y):
        r, k = rng.integers(3, 12), rng.integers(2, 8)
        if c:
            x[i, r, k : k + 7, 0] += 0.8  # a long echo
        else:
            x[i, r - 1 : r + 2, k : k + 3, 0] += 0.6  # a round one
    return x.astype("float32"), y.astype("float32")


def norm():
    return layers.BatchNormalization(momentum=0.8) if fixed else layers.BatchNormalization()


X, y = pings(320)
X_val, y_val = pings(200)

model = keras.Sequential(
    [
        layers.Input((16, 16, 1)),
        layers.Conv2D(16, 3, padding="same"),
        norm(),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same"),
        norm(),
        layers.ReLU(),
        layers.GlobalMaxPooling2D(),
        layers.Dense(32),
        norm(),
        layers.ReLU(),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X, y, batch_size=64, epochs=10, validation_data=(X_val, y_val), verbose=2)

print("RESULT val_loss", f"{model.evaluate(X_val, y_val, verbose=0)[0]:.4f}")
