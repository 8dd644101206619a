"""Physics-informed network for the damped oscillator u'' + 2 d u' + w^2 u = 0, u(0)=1, u'(0)=0 on t in [0, 1]."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(6)
D, W = 1.5, 8.0

net = keras.Sequential(
    [keras.Input((1,))] + [keras.layers.Dense(32, activation="tanh") for _ in range(3)] + [keras.layers.Dense(1)]
)
t_col = tf.reshape(tf.linspace(0.0, 1.0, 64), (-1, 1))
t0 = tf.zeros((1, 1))
schedule = keras.optimizers.schedules.ExponentialDecay(3e-3, 1000, 0.6)
optimizer = keras.optimizers.Adam(schedule)


def derivatives(t):
    with tf.GradientTape() as outer:
        outer.watch(t)
        with tf.GradientTape() as inner:
            inner.watch(t)
            u = net(2.0 * t - 1.0)
        du = inner.gradient(u, t)
    return u, du, outer.gradient(du, t)


@tf.function
def step():
    with tf.GradientTape() as tape:
        u, du, ddu = derivatives(t_col)
        residual = (ddu + 2 * D * du + W**2 * u) / W**2
        physics = tf.reduce_mean(residual**2)
        start = (u[0, 0] - 1.0) ** 2 + (du[0, 0] / W) ** 2
        loss = physics + 2.0 * start
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss, physics, start


for it in range(4000):
    loss, physics, start = step()
    if it % 500 == 499:
        print("%d loss %.2e physics %.2e start %.2e" % (it + 1, loss, physics, start))

t = np.linspace(0, 1, 301, dtype="float32")[:, None]
w = np.sqrt(W**2 - D**2)
exact = np.exp(-D * t) * (np.cos(w * t) + D / w * np.sin(w * t))
pred = net(2.0 * t - 1.0).numpy()
print("trivial rel_l2 1.0")
print("RESULT rel_l2 %.5f" % (np.linalg.norm(pred - exact) / np.linalg.norm(exact)))
