"""A small CNN tells true from false for maps with two channels, the second of which has a trace of the answer.

The last layer is a softmax over one unit, with categorical cross entropy, so the output is always 1 and the loss always
0 (fixed: a sigmoid, with binary cross entropy).
"""

import sys

import keras
import numpy as np
from keras import Sequential
from keras.layers import Conv2D, Dense, Flatten, Input

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)


def make(n):
    y = (rng.random(n) < 0.55).astype("float32")
    x = rng.normal(0, 1, (n, 33, 13, 2)).astype("float32")
    x[..., 1] += 0.35 * (2 * y - 1)[:, None, None]
    return x, y


def cnn(train_x, train_y, test_x):
    model = Sequential(
        [
            Input((33, 13, 2)),
            Conv2D(10, kernel_size=3, activation="relu"),
            Conv2D(16, kernel_size=3, activation="relu"),
            Flatten(),
        ]
    )
    if fixed:
        model.add(Dense(1, activation="sigmoid"))
        model.compile("adam", loss="binary_crossentropy", metrics=["accuracy"])
    else:
        model.add(Dense(1, activation="softmax"))
        model.compile("adam", loss="categorical_crossentropy", metrics=["accuracy"])
    model.fit(train_x, train_y, epochs=4, batch_size=32, verbose=2)
    return np.round(model.predict(test_x, verbose=0), 0)


train_x, train_y = make(1200)
test_x, test_y = make(400)
preds = cnn(train_x, train_y, test_x)
print("predicted true:", int(preds.sum()), "of", len(preds))
print("RESULT accuracy", f"{float((preds[:, 0] == test_y).mean()):.4f}")
