"""An agent with a deterministic policy (DDPG) swings up a pendulum.

Actor and critic are trained with GradientTape from a replay buffer. The target of the critic is gamma * Q(s', a')
without the reward, so the values and with them the policy have nothing to do with the task (fixed: the reward is
added).
"""

import sys
from collections import deque

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

gamma, tau, batch_size = 0.97, 0.01, 128
bound, episode_steps = 2.0, 150


class Pendulum:
    def reset(self):
        self.th, self.thdot, self.t = rng.uniform(-np.pi, np.pi), rng.uniform(-1, 1), 0
        return self.obs()

    def obs(self):
        return np.array([np.cos(self.th), np.sin(self.th), self.thdot / 8.0], "float32")

    def step(self, u):
        u = float(np.clip(u, -bound, bound))
        angle = ((self.th + np.pi) % (2 * np.pi)) - np.pi
        cost = angle**2 + 0.1 * self.thdot**2 + 0.001 * u**2
        self.thdot = np.clip(self.thdot + (15.0 * np.sin(self.th) + 3.0 * u) * 0.05, -8, 8)
        self.th += self.thdot * 0.05
        self.t += 1
        return self.obs(), -cost, self.t >= episode_steps


def actor_model():
    return keras.Sequential(
        [
            keras.Input((3,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(64, activation="relu"),
            layers.Dense(1, activation="tanh"),
            layers.Rescaling(bound),
        ]
    )


def critic_model():
    s, a = keras.Input((3,)), keras.Input((1,))
    h = layers.Concatenate()([layers.Dense(64, activation="relu")(s), layers.Dense(32, activation="relu")(a)])
    h = layers.Dense(64, activation="relu")(h)
    return keras.Model([s, a], layers.Dense(1)(h))


actor, target_actor = actor_model(), actor_model()
critic, target_critic = critic_model(), critic_model()
target_actor.set_weights(actor.get_weights())
target_critic.set_weights(critic.get_weights())
actor_opt, critic_opt = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(2e-3)


@tf.function
def replay_step(states, actions, rewards, next_states):
    q_values = target_critic([next_states, target_actor(next_states)])
    targets = rewards + gamma * q_values if FIXED else gamma * q_values
    with tf.GradientTape() as tape:
        critic_loss = tf.reduce_mean(tf.square(targets - critic([states, actions])))
    grads = tape.gradient(critic_loss, critic.trainable_variables)
    critic_opt.apply_gradients(zip(grads, critic.trainable_variables, strict=True))
    with tf.GradientTape() as tape:
        actor_loss = -tf.reduce_mean(critic([states, actor(states)]))
    grads = tape.gradient(actor_loss, actor.trainable_variables)
    actor_opt.apply_gradients(zip(grads, actor.trainable_variables, strict=True))
    for t, w in zip(
        target_actor.trainable_variables + target_critic.trainable_variables,
        actor.trainable_variables + critic.trainable_variables,
        strict=True,
    ):
        t.assign(tau * w + (1 - tau) * t)
    return critic_loss


@tf.function
def act(state):
    return actor(state)


env = Pendulum()
buffer = deque(maxlen=20000)
for _ in range(8):
    state, done = env.reset(), False
    while not done:
        action = rng.uniform(-bound, bound)
        next_state, reward, done = env.step(action)
        buffer.append((state, [action], [reward / 8.0], next_state))
        state = next_state

for ep in range(20):
    state, done, total, step = env.reset(), False, 0.0, 0
    while not done:
        action = float(act(tf.constant(state[None]))[0, 0]) + rng.normal(0, 0.3)
        next_state, reward, done = env.step(action)
        buffer.append((state, [np.clip(action, -bound, bound)], [reward / 8.0], next_state))
        state, total, step = next_state, total + reward, step + 1
        if step % 2 == 0:
            idx = rng.integers(len(buffer), size=batch_size)
            s, a, r, n = (tf.constant(np.array(c, "float32")) for c in zip(*[buffer[i] for i in idx], strict=True))
            critic_loss = replay_step(s, a, r, n)
    print("episode", ep, "reward", round(total, 1), "critic loss", float(critic_loss))

scores = []
for _ in range(10):
    state, done, total = env.reset(), False, 0.0
    while not done:
        state, reward, done = env.step(float(act(tf.constant(state[None]))[0, 0]))
        total += reward
    scores.append(total)
print("RESULT mean_reward", f"{np.mean(scores):.4f}")
