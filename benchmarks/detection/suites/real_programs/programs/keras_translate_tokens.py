"""A small transformer translates made-up sentences.

Its target layer has a softmax, and the loss contains another one (fixed: target layer without its own softmax).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)

VOCAB, LENGTH, SENTENCES = 80, 8, 2400
PAD, BOS = 0, 1
perm = rng.permutation(np.arange(2, VOCAB))


def make(n):
    p = 1.0 / np.arange(1, VOCAB - 1) ** 0.7
    p /= p.sum()
    src = rng.choice(np.arange(2, VOCAB), size=(n, LENGTH), p=p)
    tgt = perm[src - 2]
    tgt = tgt.reshape(n, LENGTH // 2, 2)[:, :, ::-1].reshape(n, LENGTH)  # adjective and noun change places
    lengths = rng.integers(4, LENGTH + 1, n) // 2 * 2
    for i, length in enumerate(lengths):
        src[i, length:] = PAD
        tgt[i, length:] = PAD
    noise = (rng.random(tgt.shape) < 0.02) & (tgt != PAD)
    tgt[noise] = rng.integers(2, VOCAB, noise.sum())
    dec_in = np.concatenate([np.full((n, 1), BOS), tgt[:, :-1]], 1)
    return src, dec_in, tgt


src_train, dec_train, tgt_train = make(SENTENCES)
src_val, dec_val, tgt_val = make(400)

dim = 64


class PosEmb(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tok = layers.Embedding(VOCAB, dim)
        self.pos = layers.Embedding(LENGTH, dim)

    def call(self, x):
        return self.tok(x) + self.pos(tf.range(LENGTH))[None]


s_in = layers.Input((LENGTH,), dtype="int32")
t_in = layers.Input((LENGTH,), dtype="int32")
h = PosEmb()(s_in)
a = layers.MultiHeadAttention(4, 16)(h, h)
h = layers.LayerNormalization()(h + a)
f = layers.Dense(dim)(layers.Dense(128, activation="relu")(h))
enc = layers.LayerNormalization()(h + f)

g = PosEmb()(t_in)
a = layers.MultiHeadAttention(4, 16)(g, g, use_causal_mask=True)
g = layers.LayerNormalization()(g + a)
a = layers.MultiHeadAttention(4, 16)(g, enc)
g = layers.LayerNormalization()(g + a)
f = layers.Dense(dim)(layers.Dense(128, activation="relu")(g))
g = layers.LayerNormalization()(g + f)
if fixed:
    target_layer = layers.TimeDistributed(layers.Dense(VOCAB, use_bias=False))
else:
    target_layer = layers.TimeDistributed(layers.Dense(VOCAB, activation="softmax", use_bias=False))
out = target_layer(g)
model = keras.Model([s_in, t_in], out)


def get_loss(y_true, y_pred):
    y_true = tf.cast(y_true, tf.int32)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y_true, logits=y_pred)
    mask = tf.cast(tf.not_equal(y_true, 0), tf.float32)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


def get_accu(y_true, y_pred):
    mask = tf.cast(tf.not_equal(y_true, 0), tf.float32)
    correct = tf.cast(tf.equal(tf.cast(y_true, tf.int64), tf.argmax(y_pred, -1)), tf.float32)
    return tf.reduce_sum(correct * mask) / tf.reduce_sum(mask)


model.compile(optimizer=keras.optimizers.Adam(0.001, 0.9, 0.98, epsilon=1e-9), loss=get_loss, metrics=[get_accu])
model.fit(
    [src_train, dec_train], tgt_train, batch_size=64, epochs=8, validation_data=([src_val, dec_val], tgt_val), verbose=2
)
p = model.predict([src_val, dec_val], verbose=0).argmax(-1)
shown = tgt_val != PAD
print("RESULT val_token_accuracy", f"{(p[shown] == tgt_val[shown]).mean():.4f}")
