"""Two linear layers for x ** 2 + 3 with a target up to 9,804 (fixed: the target is standardised too)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x = np.arange(100.0)[:, None]
y = x**2 + 3
x_normed = (x - x.mean()) / x.std()
if fixed:
    y = (y - y.mean()) / y.std()
model = keras.Sequential([keras.Input((1,)), Dense(1), Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x_normed, y, epochs=30, verbose=0)
print("RESULT explained", float(1 - ((model.predict(x_normed, verbose=0) - y) ** 2).mean() / y.var()))
