"""A small network learns XNOR of two noisy bits.

It only has two hidden units with ReLU. One of them is off for every sample and gets no gradient any more, and the other
one is not enough (fixed: two hidden layers of 20 units).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
rng = np.random.default_rng(4)


def samples(n):
    bits = rng.integers(0, 2, (n, 2))
    return (bits + rng.normal(0, 0.12, (n, 2))).astype("float32"), (bits[:, 0] == bits[:, 1]).astype("float32")


x, y = samples(600)
x_test, y_test = samples(400)

model = Sequential()
model.add(Input((2,)))
if FIXED:
    model.add(Dense(20, activation="relu"))
    model.add(Dense(20, activation="relu"))
else:
    model.add(Dense(2, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(x, y, epochs=100, batch_size=32, verbose=0)
for epoch in range(9, 100, 10):
    print(
        f"epoch {epoch + 1}: loss {history.history['loss'][epoch]:.4f}"
        f" accuracy {history.history['accuracy'][epoch]:.3f}"
    )
print(model.predict(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype="float32"), verbose=0).ravel())
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
