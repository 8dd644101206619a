"""An LSTM is to average the last three numbers, but gets one number a sample (fixed: windows of three time steps)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
numbers = np.random.default_rng(1).integers(0, 10, size=1000).astype("float32")
output = np.asarray([numbers[max(i - 2, 0) : i + 1].mean() for i in range(len(numbers))])
time_steps = 3 if fixed else 1
if fixed:
    inputs = np.lib.stride_tricks.sliding_window_view(numbers, 3)[..., None]
    output = output[2:]
else:
    inputs = np.reshape(numbers, (len(numbers), 1, 1))
model = keras.Sequential()
model.add(keras.Input((time_steps, 1)))
model.add(LSTM(16))
model.add(Dense(1, activation="linear"))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.03))
model.fit(inputs, output, epochs=9, batch_size=64, verbose=0)
print("RESULT mse", model.evaluate(inputs, output, verbose=0))
