"""A first network sorts 200 points with one feature into four groups of fifty.

The groups are labelled 0, 1, 2 and 6, which the softmax of four units has no place for, and the loss is NaN
(fixed: the last group is labelled 3).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

labels = [0, 1, 2, 3] if fixed else [0, 1, 2, 6]


def make(n):
    x = np.concatenate([rng.normal(centre, 0.25, n) for centre in (-1.8, -0.6, 0.6, 1.8)]).reshape(-1, 1)
    return x, np.repeat(labels, n)


x_train, y_train = make(50)
x_test, y_test = make(50)

model = keras.Sequential(
    [
        keras.Input((1,)),
        Dense(32, activation="relu"),
        Dense(4, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.01),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=True,
)
model.fit(x_train, y_train, epochs=50, batch_size=32, verbose=2)

loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("Test loss", loss)
print("RESULT test_accuracy", f"{accuracy:.4f}")
