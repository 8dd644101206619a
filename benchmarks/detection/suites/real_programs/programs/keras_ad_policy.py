"""A policy gradient learns which of five offers to show to a visitor.

The loss is the mean of log(output) * reward over all outputs of the policy, and not over that of the action taken
alone, so the reward says nothing about the action (fixed: a one-hot vector picks the log probability of the action
taken).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
FEATURES, OFFERS, BATCH = 6, 5, 128
taste = rng.normal(0, 1.2, (FEATURES, OFFERS))


def visitors(n):
    return rng.normal(0, 1, (n, FEATURES)).astype("float32")


def gain(x):
    return np.tanh(x @ taste)


policy = keras.Sequential(
    [
        keras.Input((FEATURES,)),
        layers.Dense(32, activation="tanh"),
        layers.Dense(OFFERS, activation="softmax"),
    ]
)
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def train_step(state, action, reward):
    with tf.GradientTape() as tape:
        output = policy(state, training=True)
        log_output = tf.math.log(output + 1e-8)
        if FIXED:
            taken = tf.one_hot(action, OFFERS)
            loss = -tf.reduce_mean(tf.reduce_sum(taken * log_output, axis=1) * reward)
        else:
            loss = -tf.reduce_mean(log_output * reward[:, None])
    grads = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(grads, policy.trainable_variables, strict=True))
    return loss


for step in range(300):
    state = visitors(BATCH)
    probs = policy(state).numpy()
    u = rng.random((BATCH, 1))
    action = np.minimum((probs.cumsum(1) < u).sum(1), OFFERS - 1)
    reward = gain(state)[np.arange(BATCH), action] + rng.normal(0, 0.2, BATCH)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = train_step(tf.constant(state), tf.constant(action, tf.int32), tf.constant(advantage, tf.float32))
    if step % 50 == 0:
        print(f"step {step} loss {float(loss):.4f} reward {reward.mean():.3f}")

test = visitors(2000)
chosen = policy(test).numpy().argmax(1)
value = gain(test)[np.arange(len(test)), chosen].mean()
print("RESULT mean_reward", f"{value:.4f}")
