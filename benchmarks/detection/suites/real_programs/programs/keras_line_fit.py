"""A dense unit fits a line to 100 noisy points, in a loop with a GradientTape.

The targets have the shape (N,) and the predictions (N, 1), so that their difference is a matrix of (N, N), and the best
fit is the mean (fixed: targets of shape (N, 1)).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(456)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

N = 100
w_true, b_true, noise_scale = 5.0, 2.0, 0.1


def make_points(n):
    x = np.random.rand(n, 1)
    noise = np.random.normal(scale=noise_scale, size=(n, 1))
    y = w_true * x + b_true + noise
    return x.astype("float32"), np.reshape(y, (-1)).astype("float32")


x_np, y_np = make_points(N)
x_valid, y_valid = make_points(N)

x = tf.constant(x_np)
y = tf.constant(y_np.reshape(N, 1) if FIXED else y_np)

model = keras.Sequential([keras.Input((1,)), layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        y_pred = model(x, training=True)
        loss = tf.reduce_sum((y - y_pred) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for step in range(3000):
    loss = train_step()
    if step % 300 == 0:
        print(f"step {step}, loss: {loss.numpy():f}")

w, b = model.get_weights()
print(f"w {w[0, 0]:.3f} (true {w_true:.1f})   b {b[0]:.3f} (true {b_true:.1f})")
prediction = model.predict(x_valid, verbose=0)[:, 0]
r2 = 1 - np.mean((y_valid - prediction) ** 2) / np.var(y_valid)
print("RESULT validation_r2", f"{r2:.4f}")
