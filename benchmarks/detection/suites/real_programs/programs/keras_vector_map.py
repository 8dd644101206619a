"""A small network learns a map from four numbers to four numbers.

The targets reach from -5 to 1, but the last layer is a softmax, whose outputs are positive and sum to 1 (fixed: a
linear last layer).
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
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

X = rng.uniform(-1, 1, (1000, 4)).astype("float32")
Y = np.where(X < 0, 5 * X, X) + rng.normal(0, 0.05, X.shape).astype("float32")
X_train, Y_train, X_test, Y_test = X[:750], Y[:750], X[750:], Y[750:]

model = Sequential()
model.add(Input((4,)))
model.add(Dense(16, activation="relu"))
model.add(Dense(32, activation="relu"))
model.add(Dense(4, activation="linear" if FIXED else "softmax"))
model.compile(loss="mse", optimizer="adam", metrics=["mae"])
erg = model.fit(X_train, Y_train, epochs=80, batch_size=25, verbose=0)
for epoch in range(9, 80, 10):
    print(f"epoch {epoch + 1}: loss {erg.history['loss'][epoch]:.4f} mae {erg.history['mae'][epoch]:.4f}")
print("input ", X_test[0], "\ntarget", Y_test[0], "\noutput", model.predict(X_test[:1], verbose=0)[0])
mse, _ = model.evaluate(X_test, Y_test, verbose=0)
print("RESULT test_mse", f"{mse:.4f}")
