"""Inputs of 0 to 1000 saturate the tanh units of a regression (fixed: standardised)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

T = 1000
x = np.arange(T).reshape(-1, 1).astype("float32")
y = np.sin(2 * np.pi * 2 * x / T)
if fixed:
    x = (x - x.mean()) / x.std()

order = np.random.permutation(T)
train, test = order[:800], order[800:]

model = keras.Sequential(
    [
        keras.Input((1,)),
        layers.Dense(20, activation="tanh"),
        layers.Dense(20, activation="tanh"),
        layers.Dense(20, activation="tanh"),
        layers.Dense(1, activation="linear"),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(x[train], y[train], epochs=150, batch_size=20, verbose=0)

prediction = model.predict(x[test], verbose=0)
print("train mse", model.evaluate(x[train], y[train], verbose=0))
mse = float(np.mean((prediction - y[test]) ** 2))
print("test mse", mse)

print("RESULT test_mse", mse)
