"""A network with two hidden layers fits noisy points of a polynomial of degree 4, whose rows come in the order of x.

The first nine tenths are trained on and the rest tested, which lies beyond the range seen, where the network goes on in
a line (fixed: rows for the test drawn from the whole range).
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, Dense

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

x = np.linspace(-1.2, 1.3, 5000)
y = 2 * x**4 - 1.5 * x**3 - x**2 + 0.5 * x + rng.normal(0, 0.02, len(x))
if fixed:
    order = rng.permutation(len(x))
    x, y = x[order], y[order]
split = 4500
x_train, y_train = x[:split].reshape(-1, 1), y[:split].reshape(-1, 1)
x_test, y_test = x[split:].reshape(-1, 1), y[split:].reshape(-1, 1)

model = keras.Sequential()
model.add(keras.Input((1,)))
model.add(Dense(units=200))
model.add(Activation("relu"))
model.add(Dense(units=45))
model.add(Activation("relu"))
model.add(Dense(units=1))
model.compile(loss="mean_squared_error", optimizer="sgd")
model.fit(x_train, y_train, epochs=40, batch_size=50, validation_data=(x_test, y_test), verbose=2)

print("train_mse", f"{model.evaluate(x_train, y_train, batch_size=500, verbose=0):.5f}")
print("RESULT test_mse", f"{model.evaluate(x_test, y_test, batch_size=100, verbose=0):.5f}")
