"""Transformer encoder that classifies event sequences (did the user come back after a failed payment?)."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(18)
rng = np.random.default_rng(18)
VOCAB, LEN = 20, 24  # 0 is padding; 1 = failed payment, 2 = support chat, 3.. = everything else


def sequence():
    n = rng.integers(10, LEN + 1)
    s = rng.integers(4, VOCAB, n)
    label = rng.integers(0, 2)
    i, j = sorted(rng.choice(n, 2, replace=False))
    s[i], s[j] = (1, 2) if label else (2, 1)
    for k in np.flatnonzero(rng.random(n) < 0.1):
        if k not in (i, j):
            s[k] = 3
    return np.pad(s, (0, LEN - n)), label


data = [sequence() for _ in range(4000)]
x = np.stack([d[0] for d in data]).astype("int32")
y = np.array([d[1] for d in data])
x_train, y_train, x_val, y_val, x_test, y_test = x[:3000], y[:3000], x[3000:3500], y[3000:3500], x[3500:], y[3500:]


class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, dim):
        super().__init__()
        self.tok, self.pos, self.length = layers.Embedding(vocab, dim), layers.Embedding(length, dim), length

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(self.length))


DIM = 32
inp = keras.Input((LEN,), dtype="int32")
not_pad = layers.Lambda(lambda t: ops.not_equal(t, 0), output_shape=(LEN,))(inp)
attn_mask = layers.Lambda(lambda m: ops.expand_dims(m, 1), output_shape=(1, LEN))(not_pad)
h = TokenAndPosition(VOCAB, LEN, DIM)(inp)
for _ in range(2):
    n = layers.LayerNormalization(epsilon=1e-6)(h)
    h = h + layers.MultiHeadAttention(4, DIM // 4, dropout=0.05)(n, n, attention_mask=attn_mask)
    n = layers.LayerNormalization(epsilon=1e-6)(h)
    h = h + layers.Dense(DIM)(layers.Dense(64, activation="gelu")(n))
h = layers.LayerNormalization(epsilon=1e-6)(h)
h = layers.GlobalAveragePooling1D()(h, mask=not_pad)
out = layers.Dense(1, activation="sigmoid")(layers.Dropout(0.1)(h))
model = keras.Model(inp, out)

EPOCHS, BATCH = 7, 64
total = EPOCHS * -(-len(x_train) // BATCH)
lr = keras.optimizers.schedules.CosineDecay(0.0, total - 50, warmup_target=2e-3, warmup_steps=50)
model.compile(keras.optimizers.AdamW(lr, weight_decay=1e-3, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, validation_data=(x_val, y_val), verbose=2)
print(f"RESULT accuracy {model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
