"""One ReLU with one weight is to learn a ReLU, on fresh normal inputs, by gradient descent.

The weight starts at -10, so the unit answers on the wrong side only, and the weight stops at 0, where the gradient
for positive inputs is none (fixed: a leaky ReLU).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input, LeakyReLU, ReLU

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
batch = 1000


def samples():
    while True:
        x = rng.standard_normal((batch, 1)).astype("float32")
        y = np.maximum(x, 0)
        yield x, y


model = keras.Sequential([Input((1,)), Dense(1, activation=None, use_bias=False)])
model.add(LeakyReLU(negative_slope=0.1) if FIXED else ReLU())
model.set_weights([np.array([[-10.0]])])
model.compile(loss="mean_squared_error", optimizer="sgd")


class WeightHistory(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, "loss", round(logs["loss"], 5), "weight", self.model.get_weights()[0][0, 0])


model.fit(samples(), steps_per_epoch=100, epochs=12, verbose=0, callbacks=[WeightHistory()])

x_test, y_test = next(samples())
test_mse = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_mse", f"{test_mse:.4f}")
