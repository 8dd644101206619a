"""A forecast of values of both signs ends with a ReLU (fixed: no activation)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# hourly temperature anomaly: two cycles plus slow noise; forecast the next hour from the last day
t = np.arange(2600)
noise = np.zeros(len(t))
for i in range(1, len(t)):
    noise[i] = 0.8 * noise[i - 1] + rng.normal(0, 0.15)
series = np.sin(2 * np.pi * t / 24) + 0.6 * np.sin(2 * np.pi * t / 168) + noise

split, window = 2000, 24
series = (series - series[:split].mean()) / series[:split].std()


def windows(part):
    x = np.lib.stride_tricks.sliding_window_view(part, window)[:-1]
    return x[..., None], part[window:]


x_train, y_train = windows(series[:split])
x_val, y_val = windows(series[split:])

model = keras.Sequential(
    [
        keras.Input((window, 1)),
        layers.Conv1D(16, 5, activation="relu"),
        layers.Conv1D(16, 5, activation="relu"),
        layers.Flatten(),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation=None if fixed else "relu"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=64, epochs=20, verbose=2)

pred = model.predict(x_val, verbose=0)[:, 0]
r2 = 1 - np.sum((pred - y_val) ** 2) / np.sum((y_val - y_val.mean()) ** 2)
print("RESULT val_r2", r2)
