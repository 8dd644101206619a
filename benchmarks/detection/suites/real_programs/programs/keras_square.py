"""A small network is to find out how one number follows from another: here it is the square.

It is a single linear unit, which cannot bend (fixed: two hidden layers with ReLU).
"""

import sys

import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(5)

features = np.linspace(-10, 10, 401).reshape(-1, 1)
labels = features**2

if fixed:
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((1,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(units=1),
        ]
    )
else:
    model = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Dense(units=1)])

model.compile(loss="mean_squared_error", optimizer=tf.keras.optimizers.Adam(0.01))
history = model.fit(features, labels, epochs=150, verbose=0)
print("loss by 30 epochs:", [round(v, 2) for v in history.history["loss"][::30]])
print(model.predict(np.array([[4.0], [7.5], [9.5]]), verbose=0).ravel(), "wanted 16, 56.25, 90.25")
error = np.abs(model.predict(features, verbose=0) - labels).mean()
print("RESULT mae", f"{float(error):.4f}")
