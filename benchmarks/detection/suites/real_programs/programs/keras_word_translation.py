"""A small transformer translates with a mask of what must not be seen, which Keras takes for what may be seen.

The decoder attends to future words, also to the one that it is to give (fixed: the mask inverted).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(12)

rng = np.random.RandomState(1)
STEMS, FORMS, L, START = 8, 3, 6, 1  # 0 is padding, 1 the start mark
V = 2 + STEMS * FORMS
n = 4500
stem = rng.randint(0, STEMS, (n, L))
shade = rng.randint(0, FORMS, (n, L))
src = 2 + stem * FORMS + shade
form = np.cumsum(shade, 1) % FORMS  # endings agree with the ending of the word before
tgt = 2 + rng.permutation(STEMS)[stem] * FORMS + form
tgt_in = np.concatenate([np.full((len(tgt), 1), START), tgt[:, :-1]], 1)


def create_look_ahead_mask(size):
    mask = 1 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)
    if fixed:
        mask = 1 - mask
    return mask[None]  # (1, query, key)


class Embed(layers.Layer):
    def __init__(self, d):
        super().__init__()
        self.words = layers.Embedding(V, d)
        self.places = layers.Embedding(L, d)

    def call(self, t):
        return self.words(t) + self.places(tf.range(L))[None]


class Block(layers.Layer):
    def __init__(self, d, heads, cross):
        super().__init__()
        self.own = layers.MultiHeadAttention(heads, d // heads)
        self.cross = layers.MultiHeadAttention(heads, d // heads) if cross else None
        self.ffn = keras.Sequential([layers.Dense(2 * d, activation="relu"), layers.Dense(d)])
        self.norms = [layers.LayerNormalization() for _ in range(3)]

    def call(self, h, context=None, mask=None):
        h = self.norms[0](h + self.own(h, h, attention_mask=mask))
        if self.cross is not None:
            h = self.norms[1](h + self.cross(h, context))
        return self.norms[2](h + self.ffn(h))


class Transformer(keras.Model):
    def __init__(self, d=48, heads=4):
        super().__init__()
        self.src_emb, self.tgt_emb = Embed(d), Embed(d)
        self.encoder, self.decoder = Block(d, heads, False), Block(d, heads, True)
        self.final = layers.Dense(V)

    def call(self, inputs):
        s, t = inputs
        memory = self.encoder(self.src_emb(s))
        h = self.decoder(self.tgt_emb(t), context=memory, mask=create_look_ahead_mask(L))
        return self.final(h)


model = Transformer()
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
k = 4000
model.fit(
    [src[:k], tgt_in[:k]],
    tgt[:k],
    validation_data=([src[k:], tgt_in[k:]], tgt[k:]),
    epochs=12,
    batch_size=64,
    verbose=2,
)

out = np.zeros((len(src) - k, L), "int64")
out[:, 0] = START
words = []
for i in range(L):
    w = model.predict_on_batch([src[k:], out])[:, i].argmax(-1)
    words.append(w)
    if i + 1 < L:
        out[:, i + 1] = w
print("RESULT words_right", f"{np.mean(np.stack(words, 1) == tgt[k:]):.4f}")
