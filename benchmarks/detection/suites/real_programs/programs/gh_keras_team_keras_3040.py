"""Linear regression on the numbers 0 to 199 by SGD with a rate of 0.001 ends in NaN (fixed: a smaller rate)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x = 1.0 * np.arange(200)
y = 2.0 * x
model = keras.Sequential([keras.Input((1,)), Dense(1)])
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.SGD(1e-5 if fixed else 0.001))
model.fit(x, y, epochs=2, batch_size=1, verbose=0)
print("RESULT mse", model.evaluate(x, y, verbose=0))
