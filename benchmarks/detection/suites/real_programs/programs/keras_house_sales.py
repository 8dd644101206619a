"""A network with three hidden layers predicts sale prices of houses, up to 750,000, from standardised columns.

It learns by SGD with a learning rate of 0.1. The squared error of prices in dollars explodes to NaN in the first
epoch (fixed: the error is that of logarithms, ``mean_squared_logarithmic_error``).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
N, COLUMNS = 2051, 30

x = rng.normal(size=(N, COLUMNS)).astype("float32")
effect = rng.normal(0, 1, COLUMNS) * (rng.random(COLUMNS) < 0.5)
effect *= 0.38 / np.linalg.norm(effect)
price = (
    np.exp(12.0 + x @ effect + 0.05 * x[:, 0] * x[:, 1] + rng.normal(0, 0.08, N)).clip(30000, 755000).astype("float32")
)
x_train, y_train, x_test, y_test = x[:1640], price[:1640], x[1640:], price[1640:]

model = keras.Sequential(
    [
        keras.Input((COLUMNS,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(1),
    ]
)
loss = "mean_squared_logarithmic_error" if FIXED else "mean_squared_error"
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.1), loss=loss, metrics=["mae"])
model.fit(x_train, y_train, batch_size=16, epochs=30, validation_split=0.2, verbose=2)

predicted = model.predict(x_test, verbose=0)[:, 0]
print("RESULT relative_error", f"{np.mean(np.abs(predicted - y_test) / y_test):.4f}")
