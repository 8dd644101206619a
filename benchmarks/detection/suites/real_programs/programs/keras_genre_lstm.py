"""An LSTM tells ten kinds of sequences of spectra apart.

Adam's learning rate of 0.1 is too high for it (fixed: 0.001).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(6)

CLASSES, STEPS, BANDS, N = 10, 30, 20, 900
base = rng.normal(0, 0.7, (CLASSES, BANDS))
rate = rng.uniform(0.1, 1.2, (CLASSES, BANDS))
y = rng.integers(0, CLASSES, N)
t = np.arange(STEPS)[None, :, None]
X = (
    base[y][:, None]
    + np.sin(rate[y][:, None] * t + rng.uniform(0, 6.3, (N, 1, BANDS)))
    + rng.normal(0, 0.7, (N, STEPS, BANDS))
)
X = ((X - X.mean((0, 1))) / X.std((0, 1))).astype("float32")
x_train, y_train, x_val, y_val = X[:700], y[:700], X[700:], y[700:]

model = Sequential(
    [
        Input((STEPS, BANDS)),
        LSTM(64, return_sequences=True),
        LSTM(64),
        Dense(CLASSES, activation="softmax"),
    ]
)
optimizer = keras.optimizers.Adam(learning_rate=1e-3 if fixed else 1e-1)
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=15, batch_size=32, validation_data=(x_val, y_val), verbose=2)
print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
