"""A network of ReLUs is to solve an equation of its second derivative, which is zero everywhere.

So it cannot fulfil the equation (fixed: tanh), which is that of the ground state of a harmonic well:
-psi'' + x^2/2 psi = E psi, with E = 1/sqrt(2); psi(0) = 1 and psi(-5) = psi(5) = 0.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
act = "tanh" if fixed else "relu"


class Solver:
    def __init__(self, potential):
        self.potential = potential
        self.model = keras.Sequential(
            [
                keras.Input((1,)),
                layers.Dense(50, activation=act),
                layers.Dense(50, activation=act),
                layers.Dense(50, activation=act),
                layers.Dense(1),
            ]
        )
        self.opt = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(2e-3, 1000, 0.5))

    def residual(self, x, e):
        with tf.GradientTape() as tape2:
            tape2.watch(x)
            with tf.GradientTape() as tape1:
                tape1.watch(x)
                psi = self.model(x)
            dpsi = tape1.gradient(psi, x)
        d2psi = tape2.gradient(dpsi, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return -d2psi + (self.potential(x) - e) * psi

    @tf.function
    def step(self, x, e):
        edge = tf.constant([[-5.0], [0.0], [5.0]])
        value = tf.constant([[0.0], [1.0], [0.0]])
        with tf.GradientTape() as tape:
            ode = tf.reduce_mean(tf.square(self.residual(x, e)))
            bound = tf.reduce_mean(tf.square(self.model(edge) - value))
            loss = ode + 10.0 * bound
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables, strict=True))
        return ode, bound


solver = Solver(lambda x: 0.5 * tf.square(x))
e = tf.constant(1 / np.sqrt(2.0), tf.float32)
rng = np.random.RandomState(0)
for it in range(4001):
    x = tf.constant(rng.uniform(-5, 5, (100, 1)), tf.float32)
    ode, bound = solver.step(x, e)
    if it % 500 == 0:
        print(f"step {it} equation {float(ode):.5f} conditions {float(bound):.5f}")

grid = np.linspace(-5, 5, 201, dtype="float32")[:, None]
exact = np.exp(-(grid**2) / (2 * np.sqrt(2.0)))
err = solver.model(tf.constant(grid)).numpy() - exact
print("RESULT relative_error", f"{np.sqrt((err**2).mean()) / np.sqrt((exact**2).mean()):.4f}")
