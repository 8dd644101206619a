"""A transformer block gives short texts one of 20 labels, where texts are indices of a few words, padded with zeros.

The rows are scaled to length 1, and what the embedding makes of them are ones and zeros only: texts of one word are all
the same (fixed: the indices as they are).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

vocab_size = 200
maxlen = 10
words = rng.permutation(np.arange(2, vocab_size))
label_of = np.zeros(vocab_size, int)
label_of[words] = np.arange(len(words)) % 20


def texts(n):
    x = np.zeros((n, maxlen), int)
    x[:, 0] = rng.choice(words, n)
    return x, label_of[x[:, 0]]


x_train, y_train = texts(3000)
x_val, y_val = texts(600)
if not fixed:
    x_train = keras.utils.normalize(x_train.astype("float32"), axis=1)
    x_val = keras.utils.normalize(x_val.astype("float32"), axis=1)


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs, training=None):
        out = self.dropout1(self.att(inputs, inputs), training=training)
        out1 = self.layernorm1(inputs + out)
        out2 = self.dropout2(self.ffn(out1), training=training)
        return self.layernorm2(out1 + out2)


inputs = keras.Input((maxlen,))
x = layers.Embedding(vocab_size, 32)(inputs)
x = TransformerBlock(32, 2, 32)(x)
x = layers.GlobalAveragePooling1D()(x)
x = layers.Dropout(0.1)(x)
x = layers.Dense(64, activation="relu")(x)
outputs = layers.Dense(20, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=8, validation_data=(x_val, y_val), verbose=2)
_, acc = model.evaluate(x_val, y_val, verbose=0)
print("RESULT val_accuracy", f"{acc:.4f}")
