"""A network with two hidden layers learns u(x, t) = sin(x / 2) + exp(-t), in a loop with ``GradientTape``.

The targets have the shape (N,) and the outputs (N, 1), so their difference is a table of each with each and the mean
is learnt (fixed: targets of shape (N, 1)).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)


def func_u(x, t):
    return np.sin(x / 2) + np.exp(-t)


N = 600
x = np.linspace(-np.pi, np.pi, N)
t = np.linspace(0, 2, N)
X = np.vstack((x, t)).T.astype("float32")
u = func_u(x, t).astype("float32")
order = np.random.permutation(N)
train, test = order[:480], order[480:]

model = keras.Sequential(
    [
        keras.Input((2,)),
        layers.Dense(100, activation="relu"),
        layers.Dense(100, activation="relu"),
        layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(0.001)
X_train = tf.constant(X[train])
u_train = tf.constant(u[train])
if fixed:
    u_train = tf.reshape(u_train, (-1, 1))


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        u_pred = model(X_train, training=True)
        loss = tf.reduce_mean(tf.square(u_train - u_pred))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(1000):
    loss = train_step()
    if epoch % 100 == 0:
        print(f"epoch {epoch}: loss {float(loss):.5f}")

u_test = model.predict(X[test], verbose=0)[:, 0]
print("RESULT test_mse", f"{np.mean((u_test - u[test]) ** 2):.5f}")
