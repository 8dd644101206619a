"""A GRU learns a representation of short click sequences that brings sessions of one kind of visitor together.

It is trained with the triplet loss. Positives are drawn at random and are at times identical to the anchor; the
distance is then zero and the gradient of its square root is not a number, which ruins all weights (fixed: only
positives that differ from the anchor are drawn).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

vocab, horizon, kinds = 8, 8, 4
chains = rng.dirichlet(np.full(vocab, 0.25), size=(kinds, vocab))


def session(kind):
    s = [int(rng.integers(vocab))]
    while len(s) < horizon:
        s.append(int(rng.choice(vocab, p=chains[kind, s[-1]])))
    return s


def sessions(n):
    y = rng.integers(kinds, size=n)
    return np.array([session(k) for k in y]), y


x_train, y_train = sessions(2000)
x_test, y_test = sessions(600)

encoder = keras.Sequential(
    [
        keras.Input((horizon,), dtype="int32"),
        layers.Embedding(vocab, 16),
        layers.GRU(32),
        layers.Dense(16),
    ]
)
optimizer = keras.optimizers.Adam(2e-3)
margin = 1.0


def distance(a, b):
    return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=1))


@tf.function
def train_step(anchor, positive, negative):
    with tf.GradientTape() as tape:
        a, p, n = encoder(anchor), encoder(positive), encoder(negative)
        loss = tf.reduce_mean(tf.maximum(distance(a, p) - distance(a, n) + margin, 0.0))
    grads = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(grads, encoder.trainable_variables, strict=True))
    return loss


by_kind = [np.where(y_train == k)[0] for k in range(kinds)]


def triplets(n):
    a = rng.integers(len(x_train), size=n)
    p, q = np.empty(n, int), np.empty(n, int)
    for i in range(n):
        k = y_train[a[i]]
        p[i] = rng.choice(by_kind[k])
        if FIXED:
            while np.array_equal(x_train[p[i]], x_train[a[i]]):
                p[i] = rng.choice(by_kind[k])
        q[i] = rng.choice(by_kind[(k + rng.integers(1, kinds)) % kinds])
        while np.array_equal(x_train[q[i]], x_train[a[i]]):
            q[i] = rng.choice(by_kind[(k + rng.integers(1, kinds)) % kinds])
    return x_train[a], x_train[p], x_train[q]


for step in range(450):
    a, p, n = triplets(64)
    loss = train_step(tf.constant(a, tf.int32), tf.constant(p, tf.int32), tf.constant(n, tf.int32))
    if step % 50 == 0:
        print(step, float(loss))

e_train = encoder.predict(x_train, verbose=0)
e_test = encoder.predict(x_test, verbose=0)
centres = np.stack([e_train[y_train == k].mean(0) for k in range(kinds)])
nearest = ((e_test[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
print("RESULT nearest_centre_accuracy", f"{np.mean(nearest == y_test):.4f}")
