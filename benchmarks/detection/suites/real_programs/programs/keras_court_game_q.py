"""A deep Q-network learns from random moves to walk to the ball on a small court.

The Q value of the action that was taken is a sum over the whole batch, so every target is compared with the sum of the
Q values of all samples (fixed: the sum only goes over the axis of the actions).
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

SIZE, ACTIONS, GAMMA, BATCH = 6, 4, 0.8, 64
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Court:
    def reset(self):
        self.player = rng.integers(0, SIZE, 2)
        self.ball = rng.integers(0, SIZE, 2)
        while (self.ball == self.player).all():
            self.ball = rng.integers(0, SIZE, 2)
        return self.state()

    def state(self):
        return np.concatenate([self.player, self.ball]).astype("float32") / (SIZE - 1) - 0.5

    def step(self, action):
        before = np.abs(self.player - self.ball).sum()
        self.player = np.clip(self.player + MOVES[action], 0, SIZE - 1)
        after = np.abs(self.player - self.ball).sum()
        done = after == 0
        reward = 1.0 if done else 0.2 * np.sign(before - after) - 0.05
        return self.state(), reward, done


def build():
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(ACTIONS),
        ]
    )


env = Court()
memory = []
state = env.reset()
steps = 0
for _ in range(5000):
    action = rng.integers(ACTIONS)
    new_state, reward, done = env.step(action)
    memory.append((state, action, reward, new_state, done))
    steps += 1
    state = new_state
    if done or steps >= 30:
        state, steps = env.reset(), 0

states = np.array([m[0] for m in memory], "float32")
actions = np.eye(ACTIONS, dtype="float32")[[m[1] for m in memory]]
rewards = np.array([m[2] for m in memory], "float32")
next_states = np.array([m[3] for m in memory], "float32")
dones = np.array([m[4] for m in memory], "float32")

model, target_model = build(), build()
target_model.set_weights(model.get_weights())
optimizer = keras.optimizers.Adam(2e-3)


@tf.function
def train_step(s, a, target):
    with tf.GradientTape() as tape:
        output = model(s, training=True)
        q = tf.reduce_sum(tf.multiply(output, a), axis=1 if FIXED else None)
        loss = tf.reduce_mean(tf.square(target - q))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for step in range(400):
    if step % 40 == 0:
        target_model.set_weights(model.get_weights())
        next_q = target_model.predict(next_states, batch_size=1000, verbose=0).max(axis=1)
        targets = (rewards + GAMMA * (1 - dones) * next_q).astype("float32")
    idx = rng.integers(0, len(states), BATCH)
    loss = train_step(states[idx], actions[idx], targets[idx])
    if step % 40 == 39:
        print(f"step {step + 1} loss {float(loss):.4f}")

solved = 0
players = [Court() for _ in range(200)]
for p in players:
    p.reset()
reached = np.zeros(200, bool)
for _ in range(2 * SIZE):
    q = model.predict(np.array([p.state() for p in players]), batch_size=200, verbose=0)
    for i, p in enumerate(players):
        if not reached[i]:
            _, _, reached[i] = p.step(int(q[i].argmax()))
print("RESULT games_won", f"{reached.mean():.4f}")
