"""Stacked LSTM layers in the shape of an hourglass learn windows of a plant's sensors.

Their activation is ReLU, so states and gradients grow without bound (fixed: tanh).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(13)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(13)
func = "tanh" if fixed else "relu"

TAGS, LOOKBACK, LENGTH = 12, 100, 1500
t = np.arange(LENGTH)[:, None]
drivers = np.concatenate([np.sin(t / 17.0), np.cos(t / 41.0), np.sin(t / 83.0 + 1)], 1)
series = drivers @ rng.normal(size=(3, TAGS)) + 0.1 * rng.normal(size=(LENGTH, TAGS))
series = ((series - series.mean(0)) / series.std(0)).astype("float32")
X = np.array([series[i : i + LOOKBACK] for i in range(0, LENGTH - LOOKBACK, 3)])
Y = np.array([series[i + LOOKBACK - 1] for i in range(0, LENGTH - LOOKBACK, 3)])
split = int(0.8 * len(X))

model = Sequential([Input((LOOKBACK, TAGS))])
for units in (64, 32, 16, 32):
    model.add(LSTM(units, activation=func, return_sequences=True))
model.add(LSTM(64, activation=func))
model.add(Dense(TAGS))
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="mse")
model.fit(X[:split], Y[:split], epochs=9, batch_size=32, verbose=2, validation_data=(X[split:], Y[split:]))
print("RESULT val_mse", f"{model.evaluate(X[split:], Y[split:], verbose=0):.4f}")
