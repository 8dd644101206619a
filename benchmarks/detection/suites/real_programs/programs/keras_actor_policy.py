"""The loss of an actor takes (y_pred, y_true), so that it takes the log of zero targets (fixed: y_true first)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5733)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(5733)


def policy_loss_a(y_pred, y_true):
    loss = ops.matmul(ops.log(y_pred), ops.transpose(y_true))
    return -loss


def policy_loss_b(y_true, y_pred):
    loss = ops.matmul(ops.log(y_pred), ops.transpose(y_true))
    return -loss


actor = keras.Sequential(
    [
        keras.Input((4,)),
        layers.Dense(24, activation="tanh"),
        layers.Dense(2, activation="softmax"),
    ]
)
actor.compile(optimizer=keras.optimizers.Adam(3e-3), loss=policy_loss_b if fixed else policy_loss_a)

secret = np.array([1.0, -0.7, 0.5, 0.9])


def step(state, action):
    good = int(secret @ state > 0)
    return 1.2 + 0.1 * rng.normal() if action == good else 0.05 + 0.02 * rng.random()


@tf.function
def act(state):
    return actor(state, training=False)


for t in range(1500):
    state = rng.normal(size=4).astype("float32")
    p = act(tf.constant(state.reshape(1, 4))).numpy()[0]
    action = int(rng.random() < p[1])
    baseline = np.zeros((1, 2), "float32")
    baseline[0, action] = step(state, action)
    loss = actor.train_on_batch(state.reshape(1, 4), baseline)
    if t % 300 == 0:
        print(t, "loss", float(loss), "policy", p)

states = rng.normal(size=(1000, 4)).astype("float32")
chosen = np.argmax(actor.predict(states, verbose=0), axis=1)

print("RESULT right_actions", f"{np.mean(chosen == (states @ secret > 0)):.4f}")
