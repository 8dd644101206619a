"""A network with attention over time finds the component at fault among twelve events of a log.

The layer TemporalSoftmax is meant to take the softmax over the time steps, but its sum runs over the last axis, which
has a single entry, so all weights are 1 and no event stands out (fixed: the sum runs over axis 1, that of time).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
STEPS, COMPONENTS, LEVELS = 12, 8, 5


def reports(n):
    component = rng.integers(0, COMPONENTS, (n, STEPS))
    level = rng.integers(0, LEVELS - 1, (n, STEPS))
    worst = rng.integers(0, STEPS, n)
    level[np.arange(n), worst] = LEVELS - 1
    elapsed = np.sort(rng.uniform(0, 1, (n, STEPS)), axis=1).astype("float32")[..., None]
    return [component, level, elapsed], component[np.arange(n), worst]


class TemporalSoftmax(layers.Layer):
    def call(self, inputs):
        exp = ops.exp(inputs)
        axis = 1 if FIXED else -1
        return exp / ops.sum(exp, axis=axis, keepdims=True)


x_train, y_train = reports(3000)
x_test, y_test = reports(800)

component = keras.Input((STEPS,), dtype="int32")
level = keras.Input((STEPS,), dtype="int32")
elapsed = keras.Input((STEPS, 1))
events = layers.Concatenate()(
    [
        layers.Embedding(COMPONENTS, 12)(component),
        layers.Embedding(LEVELS, 6)(level),
        elapsed,
    ]
)
score = layers.Dense(1)(layers.Dense(16, activation="tanh")(events))
weights = TemporalSoftmax()(score)
context = ops.sum(weights * events, axis=1)
x = layers.Dense(32, activation="relu")(context)
model = keras.Model([component, level, elapsed], layers.Dense(COMPONENTS, activation="softmax")(x))
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=64, epochs=7, verbose=2)

acc = model.evaluate(x_test, y_test, verbose=0)[1]
print("RESULT test_accuracy", f"{acc:.4f}")
