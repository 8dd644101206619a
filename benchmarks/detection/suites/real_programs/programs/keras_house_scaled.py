"""Prices of houses are predicted from a table of 506 rows and 13 columns.

The test table is scaled by its own mean and deviation, and each of its rows to length 1 (fixed: by the mean and
deviation of the training table alone). The result is the deviation of the errors as a share of that of the prices.
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, Dense, Input
from keras.models import Sequential
from sklearn.preprocessing import normalize

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(4)
keras.utils.set_random_seed(4)

n = 506
wealth = rng.randn(n)
cols = [
    np.exp(1.5 * rng.randn(n) - wealth),  # crime
    np.clip(20 * rng.randn(n) + 10, 0, 100),  # large plots
    11 + 6 * rng.randn(n),  # industry
    (rng.rand(n) < 0.07).astype(float),  # river
    0.55 + 0.1 * rng.randn(n),  # nox
    6.3 + 0.6 * wealth + 0.3 * rng.randn(n),  # rooms
    np.clip(68 + 28 * rng.randn(n), 3, 100),  # age
    np.exp(1.2 + 0.5 * rng.randn(n)),  # distance
    rng.randint(1, 25, n).astype(float),  # highways
    408 + 160 * rng.randn(n),  # tax
    18.5 + 2 * rng.randn(n),  # pupils per teacher
    np.clip(356 + 90 * rng.randn(n), 0, 397),  # b
    np.clip(12.6 - 4 * wealth + 4 * rng.randn(n), 1.5, 40),  # lstat
]
X = np.stack(cols, 1)
price = (
    22
    + 6 * (X[:, 5] - 6.3)
    + 2 * (X[:, 5] - 6.3) ** 2
    - 0.5 * (X[:, 12] - 12.6)
    - 0.9 * (X[:, 10] - 18.5)
    - 18 * (X[:, 4] - 0.55)
    - 0.01 * (X[:, 9] - 408)
    - 2.0 * np.log1p(X[:, 0])
    + 3 * X[:, 3]
    + 1.2 * rng.randn(n)
)
X_train, X_test, Y_train, Y_test = X[:404], X[404:], price[:404], price[404:]

center, scale = X_train.mean(0), X_train.std(0)
X_train = (X_train - center) / scale
X_test = (X_test - center) / scale if fixed else (X_test - X_test.mean(0)) / X_test.std(0)

mod = Sequential()
mod.add(Input(shape=(13,)))
mod.add(Dense(50))
mod.add(Activation("relu"))
mod.add(Dense(1))
mod.compile(loss="mse", optimizer=keras.optimizers.RMSprop(0.003))
history = mod.fit(X_train, Y_train, batch_size=32, epochs=100, verbose=0, validation_split=0.1)
print("loss", history.history["loss"][-1], "val_loss", history.history["val_loss"][-1])

pred = mod.predict(X_test if fixed else normalize(X_test), verbose=0)[:, 0]
print("RESULT relative_sd", round(float(np.std(pred - Y_test) / np.std(Y_test)), 4))
