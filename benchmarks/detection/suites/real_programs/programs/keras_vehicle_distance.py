"""The way of a vehicle in ten seconds; the loss is a distance, whose root has no finite slope where it is 0.

It is exactly 0 for vehicles that stand, and all weights turn to NaN (fixed: 1e-10 below the root).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

rng = np.random.RandomState(4)
n = 6000
speed = rng.uniform(2, 14, n)
speed[rng.rand(n) < 0.004] = 0.0  # waiting at a light
heading = rng.uniform(-np.pi, np.pi, n)
turn = rng.normal(0, 0.06, n)  # radians per second
steps = np.arange(10)[None] + 0.5
ang = heading[:, None] + turn[:, None] * steps
move = np.stack([(speed[:, None] * np.cos(ang)).sum(1), (speed[:, None] * np.sin(ang)).sum(1)], 1)
sensors = np.stack([np.cos(heading), np.sin(heading), turn / 0.06, (speed - 8) / 4], 1).astype("float32")
reach = (10 * speed)[:, None].astype("float32")
move = move.astype("float32")


def distance(y_true, y_pred):
    lx = y_true[:, 0] - y_pred[:, 0]
    ly = y_true[:, 1] - y_pred[:, 1]
    if fixed:
        return tf.reduce_mean(tf.sqrt(tf.add(tf.add(tf.square(lx), tf.square(ly)), 1e-10)))
    return tf.reduce_mean(tf.sqrt(tf.add(tf.square(lx), tf.square(ly))))


a = keras.Input((4,))
b = keras.Input((1,))
h = layers.Dense(64, activation="relu")(a)
h = layers.Dense(64, activation="relu")(h)
out = layers.Multiply()([layers.Dense(2)(h), b])  # direction times reach
model = keras.Model([a, b], out)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=distance)
k = 5000
model.fit(
    [sensors[:k], reach[:k]],
    move[:k],
    validation_data=([sensors[k:], reach[k:]], move[k:]),
    epochs=20,
    batch_size=64,
    verbose=2,
)
p = model.predict([sensors[k:], reach[k:]], verbose=0)
print("RESULT mean_distance_m", f"{np.mean(np.sqrt(((p - move[k:]) ** 2).sum(1))):.4f}")
