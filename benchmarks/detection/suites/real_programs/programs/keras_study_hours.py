"""A line gives the marks of pupils by their hours of study, with two variables and gradient descent.

The hours lie between 25 and 70, for which a rate of 0.01 is too high, so that weight and bias swing wider and wider
until they are NaN (fixed: the hours are standardised).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow import keras

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(19)
rng = np.random.default_rng(7)
hours = rng.uniform(25, 70, 120).astype("float32")
points = (1.3 * hours + 8 + rng.normal(0, 6, 120)).astype("float32")
x_train, y_train, x_test, y_test = hours[:100], points[:100], hours[100:], points[100:]

if FIXED:
    mean, std = x_train.mean(), x_train.std()
    x_train, x_test = (x_train - mean) / std, (x_test - mean) / std

W = tf.Variable([0.3], dtype=tf.float32)
b = tf.Variable([-0.3], dtype=tf.float32)
optimizer = keras.optimizers.SGD(0.01)

for _ in range(500):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(W * x_train + b - y_train))
    gradients = tape.gradient(loss, [W, b])
    optimizer.apply_gradients(zip(gradients, [W, b], strict=True))

print("W:", W.numpy(), "b:", b.numpy(), "loss:", float(loss))
mse = np.mean((W.numpy() * x_test + b.numpy() - y_test) ** 2)
print("RESULT test_mse", f"{mse:.4f}")
