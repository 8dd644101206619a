"""XOR on a grid of points is learnt by three sigmoid units and gradient descent on all points at once.

The inputs lie in 0 to 1, where gradient descent sits on a plateau (fixed: standardised).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

side = np.array([0.0, 1 / 3, 2 / 3, 1.0])
points = np.array([[a, b] for a in side for b in side], "float32")
labels = ((points[:, 0] > 0.5) != (points[:, 1] > 0.5)).astype("float32").reshape(-1, 1)
if fixed:
    points = StandardScaler().fit_transform(points).astype("float32")

model = keras.Sequential(
    [
        Input(shape=(2,)),
        Dense(3, activation="sigmoid"),
        Dense(1, activation="sigmoid"),
    ]
)
rng = np.random.RandomState(7)
model.set_weights([rng.uniform(-1, 1, (2, 3)), np.zeros(3), rng.uniform(-1, 1, (3, 1)), np.zeros(1)])
RATE = 0.1
X, Y = tf.constant(points), tf.constant(labels)


@tf.function
def epochs(k):
    loss = tf.constant(0.0)
    for _ in tf.range(k):
        with tf.GradientTape() as tape:
            p = model(X)
            loss = -tf.reduce_mean(Y * tf.math.log(p + 1e-7) + (1 - Y) * tf.math.log(1 - p + 1e-7))
        grads = tape.gradient(loss, model.trainable_variables)
        for v, g in zip(model.trainable_variables, grads, strict=True):
            v.assign_sub(RATE * g)
    return loss


for part in range(4):
    loss = epochs(tf.constant(2000))
    print("epoch", (part + 1) * 2000, "cost", float(loss))

p = model(X).numpy()
print(p.reshape(4, 4).round(2))
print("RESULT cost", round(float(loss), 5))
