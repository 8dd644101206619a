"""Deep Q-learning with a replay memory and a second network for the targets, in a corridor.

The target network is to be copied at every 60th count, but the count is that of the memory, which stands still when it
is full, so no copy is ever made (fixed: the count of learning steps). The player goes left or right on 12 fields and
gets 1 for the last one. A game ends after 40 moves.
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(13)
rng = np.random.RandomState(13)

LENGTH, MAX_MOVES, GAMMA = 12, 40, 0.9
MEMORY, BATCH, COPY_EVERY = 1000, 64, 60


def state_of(pos):
    s = np.zeros(LENGTH, "float32")
    s[pos] = 1
    return s


def move(pos, action):
    pos = max(0, pos - 1) if action == 0 else pos + 1
    return pos, float(pos == LENGTH - 1), pos == LENGTH - 1


class ReplayMemory:
    def __init__(self, size):
        self.size, self.items, self.counter = size, [], 0

    def add(self, item):
        if len(self.items) < self.size:
            self.items.append(item)
            self.counter += 1
        else:
            self.items[rng.randint(self.size)] = item

    def sample(self, k):
        chosen = [self.items[i] for i in rng.randint(0, len(self.items), k)]
        return [np.array(col) for col in zip(*chosen, strict=True)]


def make_net():
    return Sequential([Input(shape=(LENGTH,)), Dense(32, activation="relu"), Dense(2)])


class Player:
    def __init__(self):
        self.q, self.q_target = make_net(), make_net()
        self.q_target.set_weights(self.q.get_weights())
        self.opt = keras.optimizers.Adam(0.003)
        self.memory = ReplayMemory(MEMORY)
        self.learn_counter = 0

    @tf.function
    def _update(self, s, a, r, s2, done):
        target = r + GAMMA * (1.0 - done) * tf.reduce_max(self.q_target(s2), axis=1)
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(self.q(s) * tf.one_hot(a, 2), axis=1)
            loss = tf.reduce_mean(tf.square(target - value))
        grads = tape.gradient(loss, self.q.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.q.trainable_variables, strict=True))
        return loss

    def learn(self):
        if len(self.memory.items) < MEMORY:
            return None
        s, a, r, s2, d = self.memory.sample(BATCH)
        loss = self._update(
            tf.constant(s),
            tf.constant(a, tf.int32),
            tf.constant(r, tf.float32),
            tf.constant(s2),
            tf.constant(d, tf.float32),
        )
        self.learn_counter += 1
        counter = self.learn_counter if fixed else self.memory.counter
        if counter % COPY_EVERY == 0:
            self.q_target.set_weights(self.q.get_weights())
        return float(loss)


player = Player()
moves_made, losses = 0, []
while moves_made < 6000:
    pos, epsilon = rng.randint(0, LENGTH - 1), max(0.2, 1 - moves_made / 4000)
    for _ in range(MAX_MOVES):
        s = state_of(pos)
        a = rng.randint(2) if rng.rand() < epsilon else int(np.argmax(player.q(s[None]).numpy()[0]))
        pos, reward, done = move(pos, a)
        player.memory.add((s, a, reward, state_of(pos), float(done)))
        loss = player.learn()
        if loss is not None:
            losses.append(loss)
        moves_made += 1
        if done:
            break
print("loss first/last", np.mean(losses[:200]), np.mean(losses[-200:]))

values = player.q(np.eye(LENGTH, dtype="float32")).numpy()
print(values.round(2))
wins = 0
for start in range(LENGTH - 1):
    pos = start
    for _ in range(MAX_MOVES):
        pos, reward, done = move(pos, int(np.argmax(values[pos])))
        if done:
            wins += 1
            break
print("RESULT share_of_games_won", round(wins / (LENGTH - 1), 4))
