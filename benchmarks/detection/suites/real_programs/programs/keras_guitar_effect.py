"""A softmax with categorical cross-entropy at the end of a regression of signed values (fixed: linear, with MSE)."""

import sys

import keras
import numpy as np

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)

seq_length = 20
n = 1200
t = np.arange(n)
raw = np.stack(
    [np.sin(0.11 * t) + 0.4 * np.sin(0.37 * t + 1.0), np.sin(0.13 * t + 0.5) + 0.4 * np.sin(0.29 * t)], axis=1
)
raw = raw + 0.05 * np.random.randn(n, 2)
effect = np.tanh(1.5 * raw)
effect[6:] += 0.4 * raw[:-6]

data_x = []
data_y = []
for i in range(len(raw) - seq_length):
    data_x.append(raw[i + 1 : i + seq_length + 1])
    data_y.append(effect[i + seq_length])
x = np.reshape(data_x, (len(raw) - seq_length, seq_length, 2)).astype("float32")
y = np.reshape(data_y, (len(raw) - seq_length, 2)).astype("float32")
x_train, y_train = x[:900], y[:900]
x_test, y_test = x[920:], y[920:]

model = keras.Sequential(
    [
        keras.Input((seq_length, 2)),
        keras.layers.LSTM(24, return_sequences=True),
        keras.layers.LSTM(24),
        keras.layers.Dense(2, activation=None if fixed else "softmax"),
    ]
)
model.compile(loss="mse" if fixed else "categorical_crossentropy", optimizer="adam")
model.fit(x_train, y_train, epochs=15, batch_size=20, verbose=2)

pred = model.predict(x_test, verbose=0)
print("predicted range", pred.min(), pred.max())
print("target range", y_test.min(), y_test.max())
mae = np.abs(pred - y_test).mean()
print("mean absolute error", mae)

print("RESULT test_mae", mae)
