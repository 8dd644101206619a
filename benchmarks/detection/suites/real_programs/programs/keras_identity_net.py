"""A network of three layers learns to repeat its only input, in a loop with a GradientTape.

All weights and biases are drawn with a standard deviation of 0.001, so that the gradients of every layer are next to
nothing and the weights stay where they are (fixed: Glorot's weights, and biases of 0.1).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

FIXED = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(1)

DEPTH_1 = 16
DEPTH_2 = 16
OUT_DEPTH = 1


def dense(units, activation=None):
    if FIXED:
        w_init, b_init = tf.keras.initializers.GlorotUniform(), tf.keras.initializers.Constant(0.1)
    else:
        w_init, b_init = tf.keras.initializers.RandomNormal(0.0, 1e-3), tf.keras.initializers.RandomNormal(0.0, 1e-3)
    return tf.keras.layers.Dense(units, activation=activation, kernel_initializer=w_init, bias_initializer=b_init)


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.h1 = dense(DEPTH_1, "relu")
        self.h2 = dense(DEPTH_2, "relu")
        self.out = dense(OUT_DEPTH)

    def call(self, x):
        return self.out(self.h2(self.h1(x)))


model = Encoder()
model(tf.zeros((1, 1)))
opt = tf.keras.optimizers.SGD(0.02)
opt.build(model.trainable_variables)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        distance = tf.reduce_mean(tf.square(x - model(x)))
    grads = tape.gradient(distance, model.trainable_variables)
    grads = [tf.clip_by_value(g, -4.5, 4.5) for g in grads]
    opt.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return distance


for step in range(4000):
    batch = (2.0 * np.random.rand(32, 1) - 1.0).astype("float32")
    loss = train_step(tf.constant(batch))
    if step % 250 == 0 or step == 3999:
        print(f"step {step:5d}  distance {float(loss):.5f}  |W1| {float(tf.norm(model.h1.kernel)):.4f}")

x_test = np.linspace(-1, 1, 201, dtype="float32").reshape(-1, 1)
estimate = model(x_test).numpy()
for i in range(0, 201, 25):
    print(f"input {x_test[i, 0]:+.2f}  estimate {estimate[i, 0]:+.3f}")
print("RESULT test_mse", f"{np.mean((x_test - estimate) ** 2):.5f}")
