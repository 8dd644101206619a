"""A tanh at the output of a regression whose targets reach 10 (fixed: a linear output)."""

import sys

import keras
import numpy as np
from keras import layers, models

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)


def line_model():
    inp = layers.Input((1,))
    hidden = layers.Dense(16, activation="tanh")(inp)
    hidden = layers.Dense(8, activation="tanh")(hidden)
    hidden = layers.Dense(4, activation="tanh")(hidden)
    output = layers.Dense(1, activation=None if fixed else "tanh")(hidden)
    return models.Model(inp, output)


x = np.random.uniform(-1, 1, size=(1000, 1)).astype("float32")
y = 10.0 * x
x_val = np.linspace(-1, 1, 200).reshape(-1, 1).astype("float32")
y_val = 10.0 * x_val

model = line_model()
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.Adam(0.01))
model.fit(x, y, epochs=30, batch_size=32, validation_data=(x_val, y_val), verbose=2)

for v in (-0.8, -0.3, 0.1, 0.5, 0.9):
    print(v, "->", model.predict(np.array([[v]], dtype="float32"), verbose=0)[0, 0])
mse = model.evaluate(x_val, y_val, verbose=0)
print("mse", mse)

print("RESULT val_mse", mse)
