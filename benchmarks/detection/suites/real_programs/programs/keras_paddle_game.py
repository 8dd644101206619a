"""Q-learning moves a paddle to catch the good of the particles that fall and to keep away from the bad.

The Q network is compiled with categorical cross-entropy, which makes no sense of values that are not between 0 and 1
(fixed: mean squared error).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

WIDTH, HEIGHT = 7, 6


class Games:
    """Several games that run side by side."""

    def __init__(self, n):
        self.n = n
        self.player = rng.integers(0, WIDTH, n)
        self.x = rng.integers(0, WIDTH, n)
        self.y = rng.integers(1, HEIGHT + 1, n)
        self.kind = rng.integers(0, 2, n)

    def state(self):
        return np.stack([self.player / (WIDTH - 1), self.x / (WIDTH - 1), self.y / HEIGHT, self.kind], axis=1).astype(
            "float32"
        )

    def step(self, action):
        self.player = np.clip(self.player + action - 1, 0, WIDTH - 1)
        self.y = self.y - 1
        done = self.y == 0
        caught = done & (np.abs(self.player - self.x) <= 1)
        reward = np.zeros(self.n)
        reward[caught & (self.kind == 1)] = 5
        reward[caught & (self.kind == 0)] = -5
        reward[done & ~caught & (self.kind == 1)] = -2
        reward[done & ~caught & (self.kind == 0)] = 1
        new_state = self.state()
        k = int(done.sum())
        self.x[done] = rng.integers(0, WIDTH, k)
        self.y[done] = HEIGHT
        self.kind[done] = rng.integers(0, 2, k)
        return new_state, reward, done


model = keras.Sequential(
    [
        keras.Input((4,)),
        Dense(64, activation="relu"),
        Dense(64, activation="relu"),
        Dense(3),
    ]
)
loss = "mean_squared_error" if fixed else "categorical_crossentropy"
model.compile(loss=loss, optimizer=keras.optimizers.Adam(0.002))

games = Games(64)
gamma = 0.8
eps = 0.5
state = games.state()
for i in range(1500):
    eps = max(0.1, eps * 0.998)
    q = np.array(model.predict_on_batch(state))
    action = q.argmax(axis=1)
    explore = rng.random(games.n) < eps
    action[explore] = rng.integers(0, 3, int(explore.sum()))
    new_state, reward, done = games.step(action)
    q_new = np.array(model.predict_on_batch(new_state))
    target_vec = q.copy()
    target_vec[np.arange(games.n), action] = reward + gamma * q_new.max(axis=1) * ~done
    value = model.train_on_batch(state, target_vec)
    state = games.state()
    if i % 150 == 0:
        print("step", i, "loss", float(value), "reward", reward[done].mean() if done.any() else 0.0)

games = Games(200)
rewards = []
for _ in range(60):
    action = np.array(model.predict_on_batch(games.state())).argmax(axis=1)
    _, reward, done = games.step(action)
    rewards.extend(reward[done])
print("RESULT mean_reward", f"{np.mean(rewards):.4f}")
