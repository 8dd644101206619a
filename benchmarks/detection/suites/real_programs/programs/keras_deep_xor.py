"""A deep network learns noisy points of XOR.

Its nine hidden layers of sigmoids let the gradient vanish (fixed: ReLU).
"""

import sys

import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(777)

n = 1200
corner = np.random.randint(0, 2, (n, 2))
y_data = (corner[:, 0] ^ corner[:, 1]).astype("float32")
x_data = (corner + np.random.normal(0, 0.2, (n, 2))).astype("float32")
xt, yt, xv, yv = x_data[:900], y_data[:900], x_data[900:], y_data[900:]

act = "relu" if fixed else "sigmoid"
model = tf.keras.Sequential([tf.keras.Input((2,))])
for i in range(9):
    model.add(tf.keras.layers.Dense(10, activation=act, name=f"hidden{i + 1}"))
model.add(tf.keras.layers.Dense(1, activation="sigmoid"))

model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=0.1), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(xt, yt, batch_size=32, epochs=45, validation_data=(xv, yv), verbose=2)
print("RESULT val_accuracy", round(float(model.evaluate(xv, yv, verbose=0)[1]), 4))
