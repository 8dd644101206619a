"""A quadratic function of x is fitted by a network that gets x alone.

The dense layers have no activation between them, so the network is a straight line (fixed: ReLU).
"""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)

x = np.arange(-1000, 1000, 0.74)
y = 1.3 * x**2 + 5.3 * x + 4
x = (x / 1000).astype("float32")
y = (y / 1e6).astype("float32")

act = "relu" if fixed else None
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(64, activation=act),
        tf.keras.layers.Dense(16, activation=act),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(loss="mae", optimizer=tf.keras.optimizers.Adam(learning_rate=0.01))
history = model.fit(tf.expand_dims(x, axis=-1), y, epochs=50, verbose=2)

pred = model.predict(x[:, None], verbose=0)[:, 0]
print("RESULT mae", f"{float(np.mean(np.abs(pred - y))):.5f}")
