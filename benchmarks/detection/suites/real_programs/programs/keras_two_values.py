"""A network predicts two real values for each row of a table.

Its loss is categorical cross entropy, but the targets are real values and the outputs linear (fixed: mean squared
error).
"""

import sys

import keras
import numpy as np
from keras import layers
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

X = rng.uniform(-1, 1, size=(1500, 6)).astype("float32")
a = 0.5 + 0.4 * np.sin(2 * X[:, 0] + X[:, 1]) * X[:, 2]
b = 1 / (1 + np.exp(-(2 * X[:, 3] - X[:, 4] * X[:, 5] * 2)))
y = np.stack([a, b], 1).astype("float32")
X_train, X_test = X[:1200], X[1200:]
y_train, y_test = y[:1200], y[1200:]

model = Sequential()
model.add(keras.Input((6,)))
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(2))
opt = keras.optimizers.Adam(learning_rate=0.001)
if fixed:
    model.compile(optimizer=opt, loss="mse", metrics=["mae"])
else:
    model.compile(optimizer=opt, loss="categorical_crossentropy", metrics=["mae"])
model.fit(X_train, y_train, epochs=60, batch_size=32, validation_split=0.1, verbose=2)

pred = model.predict(X_test, verbose=0)
print(pred[:4], y_test[:4])
print("RESULT test_mae", f"{float(np.mean(np.abs(pred - y_test))):.4f}")
