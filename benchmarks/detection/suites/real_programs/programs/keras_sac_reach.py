"""A soft actor-critic moves the tip of an arm with two joints to a goal.

Log-probabilities are summed over the whole batch, too (fixed: they are summed over the action dimension only).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

OBS, ACT, BATCH = 4, 2, 64


def reset():
    return rng.uniform(-0.6, 0.6, OBS).astype("float32")  # tip x, y and goal x, y


def env_step(s, a):
    tip = s[:2] + 0.4 * a + rng.normal(0, 0.01, 2)
    distance = np.linalg.norm(tip - s[2:])
    s2 = np.concatenate([np.clip(tip, -1, 1), s[2:]]).astype("float32")
    return s2, -distance, distance < 0.08


def mlp(n_in, n_out):
    return keras.Sequential(
        [
            layers.Input((n_in,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(n_out),
        ]
    )


actor = mlp(OBS, 2 * ACT)
q1, q2, t1, t2 = (mlp(OBS + ACT, 1) for _ in range(4))
t1.set_weights(q1.get_weights())
t2.set_weights(q2.get_weights())
actor_optimizer, q_optimizer = keras.optimizers.Adam(2e-3), keras.optimizers.Adam(2e-3)
GAMMA, ALPHA, TAU = 0.9, 0.05, 0.02


def sample(s):
    centre, log_std = tf.split(actor(s), 2, -1)
    std = tf.exp(tf.clip_by_value(log_std, -5.0, 1.0))
    raw = centre + std * tf.random.normal(tf.shape(centre))
    a = tf.tanh(raw)
    log_prob = -0.5 * ((raw - centre) / std) ** 2 - tf.math.log(std) - 0.919
    log_prob -= tf.math.log(1 - a**2 + 1e-6)
    log_prob = tf.reduce_sum(log_prob, axis=1, keepdims=True) if fixed else tf.reduce_sum(log_prob)
    return a, log_prob


act = tf.function(sample)
best_act = tf.function(lambda s: tf.tanh(actor(s)[:, :ACT]))


@tf.function
def learn(s, a, r, s2, done):
    next_action, next_log_prob = sample(s2)
    next_pairs = tf.concat([s2, next_action], 1)
    target = r + GAMMA * (1 - done) * (tf.minimum(t1(next_pairs), t2(next_pairs)) - ALPHA * next_log_prob)
    with tf.GradientTape() as tape:
        pairs = tf.concat([s, a], 1)
        q_loss = tf.reduce_mean((q1(pairs) - target) ** 2) + tf.reduce_mean((q2(pairs) - target) ** 2)
    variables = q1.trainable_variables + q2.trainable_variables
    q_optimizer.apply_gradients(zip(tape.gradient(q_loss, variables), variables, strict=True))
    with tf.GradientTape() as tape:
        new_action, new_log_prob = sample(s)
        pairs = tf.concat([s, new_action], 1)
        actor_loss = tf.reduce_mean(ALPHA * new_log_prob - tf.minimum(q1(pairs), q2(pairs)))
    actor_optimizer.apply_gradients(
        zip(tape.gradient(actor_loss, actor.trainable_variables), actor.trainable_variables, strict=True)
    )
    for net, target_net in ((q1, t1), (q2, t2)):
        for weight, target_weight in zip(net.trainable_variables, target_net.trainable_variables, strict=True):
            target_weight.assign(TAU * weight + (1 - TAU) * target_weight)
    return q_loss, actor_loss


memory, s, episode_return, t, returns = [], reset(), 0.0, 0, []
for step in range(1300):
    a = rng.uniform(-1, 1, ACT).astype("float32") if step < 200 else act(tf.constant(s[None]))[0].numpy()[0]
    s2, r, done = env_step(s, a)
    memory.append((s, a, np.float32(r), s2, np.float32(done)))
    episode_return, t, s = episode_return + r, t + 1, s2
    if done or t == 15:
        returns.append(episode_return)
        s, episode_return, t = reset(), 0.0, 0
    if step >= 200:
        batch = [memory[i] for i in rng.integers(0, len(memory), BATCH)]
        states, actions, rewards, next_states, dones = (
            np.array(column, "float32") for column in zip(*batch, strict=True)
        )
        critic_loss, policy_loss = learn(states, actions, rewards[:, None], next_states, dones[:, None])
    if step % 200 == 199 and step > 200:
        mean_return = np.mean(returns[-20:])
        losses = f"q_loss {float(critic_loss):.3f}  actor_loss {float(policy_loss):.3f}"
        print(f"step {step + 1}  mean return {mean_return:.3f}  {losses}")

total = []
for _ in range(60):
    s, episode_return = reset(), 0.0
    for _ in range(15):
        s, r, done = env_step(s, best_act(tf.constant(s[None])).numpy()[0])
        episode_return += r
        if done:
            break
    total.append(episode_return)
print("RESULT mean_return", f"{np.mean(total):.4f}")
