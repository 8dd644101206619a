"""Probabilities are predicted by a softmax over one unit, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

# binary flags of an item, and the probability that it is accepted
n, input_dims = 2400, 16
x = np.random.randint(0, 2, size=(n, input_dims)).astype("float32")
w = np.random.normal(0, 1.0, input_dims)
score = x @ w + 1.2 * x[:, 0] * x[:, 1] - 1.2 * x[:, 2] * x[:, 3]
y = 1 / (1 + np.exp(-(score - score.mean())))
x_train, y_train = x[:2000], y[:2000]
x_test, y_test = x[2000:], y[2000:]

model = keras.Sequential()
model.add(keras.Input((input_dims,)))
model.add(Dense(32, activation="relu"))
model.add(Dense(1, activation="sigmoid" if fixed else "softmax"))
model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.003), loss="mse")
model.fit(x_train, y_train, batch_size=64, epochs=30, validation_split=0.1, verbose=2)

predicted = model.predict(x_test, verbose=0).ravel()
mse = np.mean((predicted - y_test) ** 2)
print("test mse", mse, "variance of y", y_test.var())
print(np.c_[predicted[:5], y_test[:5]])

print("RESULT test_mse", mse)
