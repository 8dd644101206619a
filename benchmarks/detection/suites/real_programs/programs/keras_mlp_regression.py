"""A multilayer perceptron learns a table of regression by SGD with momentum.

The targets are not scaled, and gradients explode to NaN (fixed: ``clipnorm=1.0``).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from sklearn.datasets import make_regression

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

X, y = make_regression(n_samples=1000, n_features=20, noise=5.0, random_state=1)
n_train = 600
train_x, test_x = X[:n_train, :], X[n_train:, :]
train_y, test_y = y[:n_train], y[n_train:]

model = Sequential()
model.add(keras.Input((20,)))
model.add(Dense(25, activation="relu", kernel_initializer="he_uniform"))
model.add(Dense(1, activation="linear"))
opt = SGD(learning_rate=0.01, momentum=0.9, clipnorm=1.0) if fixed else SGD(learning_rate=0.01, momentum=0.9)
model.compile(loss="mean_squared_error", optimizer=opt)
history = model.fit(train_x, train_y, validation_data=(test_x, test_y), epochs=60, verbose=2)
print(
    f"Train: {model.evaluate(train_x, train_y, verbose=0):.3f}, Test: {model.evaluate(test_x, test_y, verbose=0):.3f}"
)
p = model.predict(test_x, verbose=0)[:, 0]
print("RESULT r2", round(float(1 - np.mean((p - test_y) ** 2) / np.var(test_y)), 4))
