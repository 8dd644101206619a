"""Q values on a grid are picked by all actions of the batch, a batch x batch table (fixed: one by each row)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(4)

SIDE, DISCOUNT, BATCH = 5, 0.9, 64
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
GOAL = (3, 1)


def one_hot(cell):
    v = np.zeros(SIDE * SIDE, "float32")
    v[cell[0] * SIDE + cell[1]] = 1
    return v


def step(cell, action):
    new = (min(max(cell[0] + MOVES[action][0], 0), SIDE - 1), min(max(cell[1] + MOVES[action][1], 0), SIDE - 1))
    return new, (1.0 if new == GOAL else 0.0), new == GOAL


def build():
    return keras.Sequential([keras.Input((SIDE * SIDE,)), layers.Dense(64, activation="relu"), layers.Dense(4)])


model, target_model = build(), build()
target_model.set_weights(model.get_weights())
opt = keras.optimizers.RMSprop(1e-3)
opt.build(model.trainable_variables)

memory = []
cell = (0, 0)
for _ in range(4000):  # experience of a wandering agent
    a = int(rng.integers(4))
    new, r, end = step(cell, a)
    memory.append((one_hot(cell), a, r, one_hot(new), float(end)))
    if end:
        while True:
            cell = tuple(int(v) for v in rng.integers(0, SIDE, 2))
            if cell != GOAL:
                break
    else:
        cell = new
S = np.stack([m[0] for m in memory])
A = np.array([m[1] for m in memory], "int32")[:, None]
R = np.array([m[2] for m in memory], "float32")[:, None]
NS = np.stack([m[3] for m in memory])
T = np.array([m[4] for m in memory], "float32")[:, None]


@tf.function
def train(s, a, r, ns, t):
    future = (1 - t) * tf.reduce_max(target_model(ns), axis=1, keepdims=True)
    target = r + DISCOUNT * future
    with tf.GradientTape() as tape:
        values = model(s, training=True)
        chosen = tf.gather(values, a, axis=1, batch_dims=1) if fixed else tf.gather(values, a[:, 0], axis=1)
        cost = tf.reduce_mean((chosen - target) ** 2)
    grads = tape.gradient(cost, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return cost


for it in range(3000):
    pick = rng.integers(0, len(S), BATCH)
    cost = train(*(tf.constant(v[pick]) for v in (S, A, R, NS, T)))
    if it % 100 == 99:
        target_model.set_weights(model.get_weights())
    if it % 1000 == 999:
        print(it + 1, "cost", float(cost))

cells = [(i, j) for i in range(SIDE) for j in range(SIDE) if (i, j) != GOAL]
values = model.predict(np.stack([one_hot(c) for c in cells]), verbose=0)
greedy = {c: int(q.argmax()) for c, q in zip(cells, values, strict=True)}
reached = 0
for start in cells:
    c = start
    for _ in range(12):
        c, r, end = step(c, greedy[c])
        if end:
            reached += 1
            break

print("RESULT starts_that_reach_goal", f"{reached / len(cells):.4f}")
