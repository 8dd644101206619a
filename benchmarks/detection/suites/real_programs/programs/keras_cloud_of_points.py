"""A curve is fitted to 100 points by two hidden layers of three sigmoids and gradient descent.

The inputs lie around 20, far from zero, so the sigmoids are saturated (fixed: inputs standardised).
"""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(8)

m = 100
x = (20 + rng.uniform(-3, 3, (m, 1))).astype("float32")
y = (1.0 + np.tanh(x - 20) + 0.05 * rng.normal(size=(m, 1))).astype("float32")
if fixed:
    x = (x - x.mean()) / x.std()


def neural_network_constructor(arch_list=(1, 3, 3, 1), act_func="sigmoid"):
    layers = [keras.layers.Input((arch_list[0],))]
    layers.extend(
        keras.layers.Dense(n, activation=act_func, kernel_initializer="glorot_uniform") for n in arch_list[1:-1]
    )
    layers.append(keras.layers.Dense(arch_list[-1]))
    return keras.Sequential(layers)


Phi = neural_network_constructor()
training_method = keras.optimizers.SGD(0.5)


@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(Phi(a, training=True) - b))
    variables = Phi.trainable_variables
    training_method.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


for step in range(4000):
    loss = train_step(x, y)
    if step % 400 == 0:
        print("step", step, "loss", float(loss))
error = np.mean((Phi.predict(x, verbose=0) - y) ** 2)
print("RESULT mse", f"{error:.5f}")
