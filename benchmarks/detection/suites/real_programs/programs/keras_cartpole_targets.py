"""Q-learning on the cart-pole whose targets start as zeros, also for the action that was not taken.

Each update pulls its value to zero (fixed: the targets start as the model's own predictions).
"""

import random
import sys
from collections import deque

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)


class CartPole:
    def __init__(self, seed, limit=200):
        self.rng = np.random.RandomState(seed)
        self.limit = limit

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype("float32")

    def step(self, action):
        x, v, a, w = self.s
        f = 10.0 if action == 1 else -10.0
        tmp = (f + 0.05 * w * w * np.sin(a)) / 1.1
        acc = (9.8 * np.sin(a) - np.cos(a) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(a) ** 2 / 1.1))
        xacc = tmp - 0.05 * acc * np.cos(a) / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xacc, a + 0.02 * w, w + 0.02 * acc])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.astype("float32"), 1.0, fell, fell or self.t >= self.limit


def network():
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(32, activation="relu"),
            layers.Dense(2),
        ]
    )
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.002))
    return model


GAMMA, BATCH = 0.95, 64
model, target = network(), network()
target.set_weights(model.get_weights())
memory = deque(maxlen=10000)
epsilon = 1.0
env = CartPole(0)


def replay():
    losses = []
    for _ in range(10):
        sample = random.sample(memory, BATCH)
        states, actions, rewards, nexts, falls = (np.array(c) for c in zip(*sample, strict=True))
        next_q = target.predict_on_batch(nexts).max(axis=1)
        targets = np.array(model.predict_on_batch(states)) if fixed else np.zeros((BATCH, 2), "float32")
        targets[np.arange(BATCH), actions] = rewards * 0.1 + (1 - falls) * next_q * GAMMA
        losses.append(float(model.train_on_batch(states, targets)))
    return np.mean(losses)


for episode in range(110):
    s, done, total = env.reset(), False, 0.0
    while not done:
        epsilon = max(0.02, epsilon * 0.998)
        a = random.randrange(2) if random.random() < epsilon else int(np.argmax(model.predict_on_batch(s[None])[0]))
        s2, r, fell, done = env.step(a)
        memory.append((s, a, r, s2, float(fell)))
        s, total = s2, total + r
    if len(memory) >= BATCH:
        loss = replay()
        target.set_weights(model.get_weights())
        if episode % 10 == 9:
            print(f"episode {episode + 1} reward {total:.0f} loss {loss:.4f} epsilon {epsilon:.3f}")

test = CartPole(99)
lengths = []
for _ in range(10):
    s, done, total = test.reset(), False, 0.0
    while not done:
        s, r, _, done = test.step(int(np.argmax(model.predict_on_batch(s[None])[0])))
        total += r
    lengths.append(total)
print("RESULT mean_reward", f"{np.mean(lengths):.2f}")
