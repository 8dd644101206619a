"""A sine is learnt from inputs of up to 200 by a network that ends in a sigmoid (fixed: linear, and scaled)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

t = np.arange(200).reshape(-1, 1)
y = np.sin(t / 30)
x = (t / 30 if fixed else t).astype("float32")

model = keras.Sequential(
    [
        keras.Input((1,)),
        layers.Dense(40),
        layers.Activation("sigmoid"),
        layers.Dense(12),
        layers.Activation("sigmoid"),
        layers.Dense(1),
        *([] if fixed else [layers.Activation("sigmoid")]),
    ]
)
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.SGD(learning_rate=0.2, momentum=0.9))
model.fit(x, y, epochs=220, batch_size=20, verbose=0)

mse = model.evaluate(x, y, verbose=0)
print("mean squared error:", mse)
print("sin(1), sin(4):", np.sin([1.0, 4.0]), "predicted:", model.predict(x[[30, 120]], verbose=0).ravel())

print("RESULT mse", mse)
