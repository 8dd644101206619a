"""Two classes of points in the plane: one unit with softmax, mean squared error and SGD (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x = np.random.default_rng(1).random((400, 2))
y = (x.sum(1) > 1).astype("int32")
model = keras.Sequential(
    [
        keras.Input((2,)),
        Dense(64, kernel_initializer="random_uniform", activation="tanh"),
        Dropout(0.5),
        Dense(64, kernel_initializer="random_uniform", activation="tanh"),
        Dropout(0.5),
        Dense(1, kernel_initializer="random_uniform", activation="sigmoid" if fixed else "softmax"),
    ]
)
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True))
model.fit(x, y, epochs=20, batch_size=8, validation_split=0.2, verbose=0)
print("RESULT mse", model.evaluate(x, y, verbose=0))
