"""A small network is to give the numbers 1 to 4 for the four patterns of two bits.

Its output goes through tanh, which does not exceed 1 (fixed: the targets are scaled by 0.1).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
tf.config.experimental.enable_op_determinism()

inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
targets = np.array([[1], [2], [3], [4]], "float32")
scale = 0.1 if fixed else 1.0

model = Sequential(
    [
        Input((2,)),
        Dense(5, activation="tanh"),
        Dense(1, activation="tanh"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.5), loss="mse")
for i in range(2000):
    error = model.train_on_batch(inputs, targets * scale)
    if i % 200 == 0:
        print("iteration", i, "error", float(error))
answers = model.predict(inputs, verbose=0) / scale
for p, t, a in zip(inputs, targets, answers, strict=True):
    print(p, "->", a, "wanted", t)
print("RESULT mean_abs_error", f"{np.mean(np.abs(answers - targets)):.4f}")
