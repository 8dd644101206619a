"""Many-to-many regression by relu LSTMs, relu output, momentum 0.99: all zero (fixed: tanh, linear, Adam)."""

import sys

import data
import keras
from keras.layers import LSTM, Dense, TimeDistributed

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, _ = data.series(800, 31)
x, y = x[:, :-1], x[:, 1:]
activation = "tanh" if fixed else "relu"
model = keras.Sequential([keras.Input((30, 1))])
model.add(LSTM(32, activation=activation, return_sequences=True))
model.add(LSTM(16, activation=activation, return_sequences=True))
model.add(TimeDistributed(Dense(1, activation="linear" if fixed else "relu")))
optimizer = keras.optimizers.Adam(3e-3) if fixed else keras.optimizers.SGD(0.01, momentum=0.99, nesterov=True)
model.compile(loss="mean_squared_error", optimizer=optimizer)
for _ in range(4):
    for start in range(0, 640, 32):
        model.train_on_batch(x[start : start + 32], y[start : start + 32])
print("RESULT mse", model.evaluate(x[640:], y[640:], verbose=0))
