"""A small network predicts one colour channel from 12 inputs.

Its output goes through tanh, while the targets lie between 0 and 255 (fixed: no activation).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Activation, Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(5)

N, red_rows = 3000, 12
Z = rng.normal(size=(N, 3))
X = np.tanh(Z @ rng.normal(size=(3, red_rows))) + 0.1 * rng.normal(size=(N, red_rows))
Y = np.clip(125 + 45 * np.sin(Z[:, 0]) + 30 * Z[:, 1] * (Z[:, 2] > 0) + 3 * rng.normal(size=N), 0, 255)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
Y = Y.astype("float32")[:, None]
X_train_red, Y_train_red, X_test_red, Y_test_red = X[:2400], Y[:2400], X[2400:], Y[2400:]

model_red = Sequential()
model_red.add(Input((red_rows,)))
model_red.add(Dense(16))
model_red.add(Activation("tanh"))
model_red.add(Dense(16))
model_red.add(Activation("tanh"))
model_red.add(Dense(1))
if not fixed:
    model_red.add(Activation("tanh"))
model_red.compile(optimizer=keras.optimizers.RMSprop(0.01), loss="mse")
model_red.fit(X_train_red, Y_train_red, batch_size=32, epochs=60, verbose=2, validation_data=(X_test_red, Y_test_red))
print("RESULT test_mse", f"{model_red.evaluate(X_test_red, Y_test_red, verbose=0):.2f}")
