"""Correct rows of 100 logical values are told from incorrect ones.

All samples for training and validation are correct rows, with label 1, so the network always says 1 (fixed: half of
them are incorrect rows, with label 0). The result is the accuracy on rows of both kinds.
"""

import sys

import numpy as np
from tensorflow import keras

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

templates = rng.integers(0, 2, (8, 100))


def correct(n):
    rows = templates[rng.integers(0, 8, n)]
    return np.where(rng.random((n, 100)) < 0.15, 1 - rows, rows).astype("float32")


def incorrect(n):
    return rng.integers(0, 2, (n, 100)).astype("float32")


if fixed:
    train_data = np.concatenate([correct(1000), incorrect(1000)])
    train_labels = np.array([1] * 1000 + [0] * 1000, "float32")
    test_data = np.concatenate([correct(1000), incorrect(1000)])
    test_labels = np.array([1] * 1000 + [0] * 1000, "float32")
else:
    train_data, train_labels = correct(2000), np.array([1] * 2000, "float32")
    test_data, test_labels = correct(2000), np.array([1] * 2000, "float32")

model = keras.Sequential(
    [
        keras.layers.Input((100,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(train_data, train_labels, epochs=10, batch_size=32, verbose=2, validation_data=(test_data, test_labels))
print("test:", model.evaluate(test_data, test_labels, verbose=0))

check_data = np.concatenate([correct(300), incorrect(300)])
check_labels = np.array([1] * 300 + [0] * 300)
predicted = model.predict(check_data, verbose=0)[:, 0] > 0.5
print("RESULT check_accuracy", f"{float((predicted == check_labels).mean()):.4f}")
