"""Physics-informed net for a damped oscillator: nested GradientTapes, full batch of collocation points."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(15)
C, K = 0.6, 4.0  # u'' + C u' + K u = 0, u(0) = 1, u'(0) = 0
TMAX = 4.0
t = tf.reshape(tf.linspace(0.0, TMAX, 100), (-1, 1))
net = keras.Sequential(
    [
        keras.Input((1,)),
        keras.layers.Rescaling(2.0 / TMAX, offset=-1.0),
        keras.layers.Dense(32, activation="tanh"),
        keras.layers.Dense(32, activation="tanh"),
        keras.layers.Dense(1),
    ]
)
opt = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(5e-3, 1000, 0.5))


def u(x):
    # the initial conditions are built in
    return 1.0 + tf.square(1.0 - tf.exp(-x)) * net(x)


@tf.function
def step():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as t2:
            t2.watch(t)
            with tf.GradientTape() as t1:
                t1.watch(t)
                v = u(t)
            dv = t1.gradient(v, t)
        ddv = t2.gradient(dv, t)
        loss = tf.reduce_mean(tf.square(ddv + C * dv + K * v))
    g = outer.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return loss


for it in range(5000):
    loss = step()
    if it % 400 == 0:
        print(it, float(loss))
tt = np.linspace(0, TMAX, 400)
w = np.sqrt(K - C * C / 4)
exact = np.exp(-C * tt / 2) * (np.cos(w * tt) + C / (2 * w) * np.sin(w * tt))
pred = u(tf.constant(tt[:, None], tf.float32)).numpy()[:, 0]
print("RESULT r2 %.5f" % (1 - np.mean((pred - exact) ** 2) / exact.var()))
