"""Tagging by a bidirectional LSTM at a rate of 0.1 (fixed: 0.001)."""

import sys

import data
import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x = data.characters(16_001)
y = ((x[1:] + 3 * x[:-1]) % 5).reshape(800, 20)
x = np.asarray(x[1:]).reshape(800, 20)
model = keras.Sequential([
    keras.Input((20,)), layers.Embedding(27, 32), layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
    layers.Dense(5, activation="softmax"),
])  # fmt: skip
model.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=keras.optimizers.Adam(0.005 if fixed else 0.5),
    metrics=["accuracy"],
)
model.fit(x[:640], y[:640], batch_size=20, epochs=5, verbose=0)
print("RESULT accuracy", model.evaluate(x[640:], y[640:], verbose=0)[1])
