"""A dense network predicts two independent flags from 31 columns of numbers.

The two sigmoids are trained with a categorical cross-entropy, which scales them to a sum of 1 and is zero for rows
without a flag, so that those are never learnt (fixed: a binary cross-entropy and accuracy).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
from keras.layers import Dense, Input

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

n = 5000
X = rng.normal(size=(n, 31))
s1 = X[:, 0] + 0.8 * X[:, 1] - 0.7 * X[:, 2] * (X[:, 3] > 0) + rng.normal(0, 0.3, n)
s2 = X[:, 5] - 0.9 * X[:, 6] + 0.6 * np.abs(X[:, 7]) + rng.normal(0, 0.3, n)
Y = np.stack([s1 > np.quantile(s1, 0.65), s2 > np.quantile(s2, 0.65)], axis=1).astype("float32")
dataset = np.hstack([X, Y])
train, test = dataset[:4000], dataset[4000:]
X_train, Y_train = train[:, 0:31], train[:, [31, 32]]
X_test, Y_test = test[:, 0:31], test[:, [31, 32]]

model = keras.Sequential()
model.add(Input((31,)))
model.add(Dense(40, activation="relu", kernel_initializer="glorot_uniform"))
model.add(Dense(31, activation="relu", kernel_initializer="glorot_uniform"))
model.add(Dense(2, activation="sigmoid", kernel_initializer="glorot_uniform"))
if FIXED:
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["binary_accuracy"])
else:
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["categorical_accuracy"])
model.fit(X_train, Y_train, epochs=6, batch_size=32, validation_data=(X_test, Y_test), verbose=2)

print("evaluate:", model.evaluate(X_test, Y_test, verbose=0))
Y_hat = np.round(model.predict(X_test, verbose=0))
print("Y\n", Y_test[:8], "\nY_hat\n", Y_hat[:8])
print("RESULT rows_exact", f"{np.mean(np.all(Y_hat == Y_test, axis=1)):.4f}")
