"""A regression with four inputs, whose targets lie beyond 1, ends in a tanh.

The predictions cannot leave -1 to 1 (fixed: a linear last layer, with the squared error).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Activation, Dense
from keras.models import Sequential
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
tf.config.experimental.enable_op_determinism()

rng = np.random.default_rng(0)
X = rng.uniform([0, 10, -5, 1], [4, 60, 5, 9], (2500, 4))
y = 2.0 + 1.5 * np.sin(X[:, 0]) + 0.04 * X[:, 1] + 0.08 * X[:, 2] ** 2 + 3.0 / X[:, 3] + rng.normal(0, 0.1, 2500)
X = StandardScaler().fit_transform(X).astype("float32")
y = y.astype("float32").reshape(-1, 1)
Xt, yt, X, y = X[2000:], y[2000:], X[:2000], y[:2000]

model = Sequential()
model.add(keras.Input((4,)))
model.add(Dense(500, kernel_initializer="he_normal"))
model.add(Activation("tanh"))
model.add(Dense(100, activation="tanh"))
model.add(Dense(1))
model.add(Activation("linear" if fixed else "tanh"))
model.compile(loss="mean_squared_error" if fixed else "mean_absolute_error", optimizer=keras.optimizers.Adam(5e-3))
model.fit(X, y, batch_size=32, epochs=25, validation_data=(Xt, yt), verbose=2)
p = model.predict(Xt, verbose=0)
print("predicted", p.min(), "to", p.max(), "true", yt.min(), "to", yt.max())
print("RESULT test_mae", round(float(np.abs(p - yt).mean()), 4))
