"""Recordings by channel and time are reshaped to time and channel (fixed: transposed)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# recordings arrive as (sample, channel, time); the class says which channel runs ahead of the first
CHANNELS, STEPS = 3, 60


def recordings(n):
    labels = rng.integers(0, 3, n)
    t = np.arange(STEPS)
    freq = rng.uniform(0.06, 0.12, (n, 1))
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    signals = np.empty((n, CHANNELS, STEPS))
    for c in range(CHANNELS):
        lead = np.where(labels == c, np.pi / 2, 0.0)[:, None]
        signals[:, c] = np.sin(2 * np.pi * freq * t + phase + lead)
    signals += rng.normal(0, 0.4, signals.shape)
    return signals.astype("float32"), labels


def to_model_input(signals):
    return signals.transpose(0, 2, 1) if fixed else signals.reshape(-1, STEPS, CHANNELS)


x_train, y_train = recordings(1600)
x_val, y_val = recordings(400)

model = keras.Sequential(
    [
        keras.Input((STEPS, CHANNELS)),
        layers.Conv1D(24, 5, activation="relu"),
        layers.Conv1D(24, 5, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    to_model_input(x_train),
    y_train,
    validation_data=(to_model_input(x_val), y_val),
    batch_size=32,
    epochs=12,
    verbose=2,
)
print("RESULT val_acc", history.history["val_accuracy"][-1])
