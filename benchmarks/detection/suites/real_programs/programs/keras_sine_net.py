"""A small network learns one period of a sine.

A ReLU at the output cuts off all negative values of the target (fixed: a linear output).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)

X_train = np.arange(0.0, 2 * np.pi, 0.005)
Y_train = np.sin(X_train)
X_test = np.arange(0.0, 2 * np.pi, 0.0017)
Y_test = np.sin(X_test)


def scale(x):
    return ((x - np.pi) / np.pi)[:, None].astype("float32")


model = Sequential()
model.add(Input((1,)))
model.add(Dense(40, activation="relu"))
model.add(Dense(40, activation="relu"))
model.add(Dense(1, activation="linear" if fixed else "relu"))
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.SGD(learning_rate=0.05, momentum=0.9))
model.fit(scale(X_train), Y_train, batch_size=32, epochs=40, verbose=2)

print("RESULT test_mse", f"{model.evaluate(scale(X_test), Y_test, verbose=0):.5f}")
