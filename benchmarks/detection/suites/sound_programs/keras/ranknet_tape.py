"""Pairwise learning to rank (RankNet) over queries with graded relevance, GradientTape loop, NDCG@5."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
Q, D, F = 300, 16, 14
X = rng.normal(size=(Q, D, F)).astype("float32")
qual = 1.2 * X[..., 0] + 0.8 * np.maximum(X[..., 1], 0) - 0.7 * np.abs(X[..., 2]) + 0.5 * X[..., 3] * X[..., 4]
qual += rng.normal(0, 0.6, qual.shape)
rel = np.digitize(qual, np.quantile(qual, [0.5, 0.75, 0.9])).astype("float32")
tr, te = slice(0, 230), slice(230, Q)
mu, sd = X[tr].mean((0, 1)), X[tr].std((0, 1))
X = (X - mu) / sd

scorer = keras.Sequential(
    [
        keras.Input((F,)),
        keras.layers.Dense(32, activation="elu"),
        keras.layers.Dense(16, activation="elu"),
        keras.layers.Dense(1),
    ]
)
opt = keras.optimizers.Adam(2e-3)


@tf.function
def step(xb, rb):
    with tf.GradientTape() as tape:
        s = tf.reshape(scorer(tf.reshape(xb, (-1, F)), training=True), (-1, D))
        diff = s[:, :, None] - s[:, None, :]
        better = tf.cast(rb[:, :, None] > rb[:, None, :], tf.float32)
        loss = tf.reduce_sum(better * tf.nn.softplus(-diff)) / tf.reduce_sum(better)
    grads = tape.gradient(loss, scorer.trainable_variables)
    opt.apply_gradients(zip(grads, scorer.trainable_variables))
    return loss


def ndcg(s, r, k=5):
    disc = 1 / np.log2(np.arange(2, k + 2))
    got = np.take_along_axis(r, np.argsort(-s, 1), 1)[:, :k]
    best = -np.sort(-r, 1)[:, :k]
    ideal = ((2**best - 1) * disc).sum(1)
    ok = ideal > 0
    return float(np.mean(((2**got - 1) * disc).sum(1)[ok] / ideal[ok]))


ds = tf.data.Dataset.from_tensor_slices((X[tr], rel[tr])).shuffle(230, seed=0).batch(10)
for ep in range(30):
    losses = [float(step(a, b)) for a, b in ds]
    if ep % 3 == 0 or ep == 29:
        s = scorer(X[te].reshape(-1, F), training=False).numpy().reshape(-1, D)
        print("epoch", ep, "loss %.4f ndcg@5 %.4f" % (np.mean(losses), ndcg(s, rel[te])))
print("random order: %.3f" % ndcg(rng.normal(size=s.shape), rel[te]))
print("RESULT ndcg5 %.4f" % ndcg(s, rel[te]))
