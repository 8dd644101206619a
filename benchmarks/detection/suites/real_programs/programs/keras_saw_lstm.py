"""A forecast of two values of 1 to 10 ends in a softmax, whose outputs add up to 1 (fixed: no activation)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Activation, Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

# two saw-like columns that run from 1 to 10
steps = np.arange(4000)
saw = np.stack([steps % 10 + 1, 10 - (steps // 2) % 10], axis=1).astype("float32")

window = 10
x = np.stack([saw[i : i + window] for i in range(len(saw) - window)])
y = saw[window:]
split = int(len(x) * 0.9)
x_train, y_train, x_test, y_test = x[:split], y[:split], x[split:], y[split:]

model = keras.Sequential()
model.add(keras.Input((window, 2)))
model.add(LSTM(50, return_sequences=False))
model.add(Dense(2))
if not fixed:
    model.add(Activation("softmax"))
model.compile(loss="mean_squared_error", optimizer="rmsprop")
model.fit(x_train, y_train, batch_size=128, epochs=30, validation_split=0.05, verbose=2)

predicted = model.predict(x_test, verbose=0)
mse = np.mean((predicted - y_test) ** 2)
print("test mse:", mse, "variance:", y_test.var())

print("RESULT test_mse", mse)
