"""A dropout of half takes most of what four hidden units know of a sine (fixed: no dropout)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

x = np.random.uniform(-np.pi, np.pi, (600, 1)).astype("float32")
y = np.sin(x) + np.random.normal(0, 0.03, x.shape).astype("float32")
xv = np.random.uniform(-np.pi, np.pi, (200, 1)).astype("float32")
yv = np.sin(xv)

inp = keras.Input(shape=(1,))
h = layers.Dense(4, activation="tanh")(inp)
if not fixed:
    h = layers.Dropout(0.5)(h)
out = layers.Dense(1)(h)
net = keras.Model(inp, out)
net.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse")
log = net.fit(x, y, epochs=80, batch_size=32, validation_data=(xv, yv), verbose=0)
for e in range(0, 80, 10):
    print(f"epoch {e} mse {log.history['loss'][e]:.4f} val {log.history['val_loss'][e]:.4f}")

print("RESULT val_mse", f"{net.evaluate(xv, yv, verbose=0):.4f}")
