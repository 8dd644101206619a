"""``ThresholdedReLU`` cuts off the small values at the start, so no unit of a text network answers (fixed: ReLU)."""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
ALPHABET = "abcdefghijklmnopqrstuvwxyz "
LENGTH, CLASSES = 64, 4

COMMON = ["the", "a", "of", "in", "on", "new", "says", "after", "year", "will", "more", "from", "with", "over", "first"]
TOPICS = [
    ["election", "minister", "war", "troops", "peace", "talks", "president"],
    ["match", "goal", "season", "team", "coach", "cup", "player"],
    ["shares", "profit", "market", "oil", "bank", "price", "dollar"],
    ["software", "phone", "space", "web", "computer", "chip", "users"],
]


def texts(n):
    y = rng.integers(0, CLASSES, n)
    x = np.zeros((n, LENGTH), "int32")
    for i, c in enumerate(y):
        words = [rng.choice(TOPICS[c]) if rng.random() < 0.5 else rng.choice(COMMON) for _ in range(12)]
        line = " ".join(words)[:LENGTH]
        x[i, : len(line)] = [1 + ALPHABET.index(ch) for ch in line]
    return x, keras.utils.to_categorical(y, CLASSES)


class ThresholdedReLU(layers.Layer):
    """x where x > theta, else 0 (this layer is no longer a part of Keras)."""

    def __init__(self, theta=1.0):
        super().__init__()
        self.theta = theta

    def call(self, x):
        return x * ops.cast(x > self.theta, x.dtype)


def activation():
    return layers.ReLU() if fixed else ThresholdedReLU()


inputs = layers.Input((LENGTH,))
x = layers.Embedding(len(ALPHABET) + 1, 24)(inputs)
x = layers.Conv1D(48, 5)(x)
x = activation()(x)
x = layers.MaxPooling1D(3)(x)
x = layers.Conv1D(48, 3)(x)
x = activation()(x)
x = layers.GlobalMaxPooling1D()(x)
x = layers.Dense(48)(x)
x = activation()(x)
x = layers.Dropout(0.2)(x)
model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="categorical_crossentropy", metrics=["accuracy"])

X, Y = texts(1200)
X_test, Y_test = texts(300)
model.fit(X, Y, batch_size=32, epochs=10, validation_data=(X_test, Y_test), verbose=2)
print("first answers:", np.round(model.predict(X_test[:2], verbose=0), 3).tolist())

print("RESULT accuracy", f"{model.evaluate(X_test, Y_test, verbose=0)[1]:.4f}")
