import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 2000
x = rng.integers(20, 300, (n, 24))
y = rng.integers(0, 2, n)
for i in range(n):
    k = rng.choice(24, 4, replace=False)
    x[i, k] = rng.integers(0, 10, 4) + 10 * y[i]


class Block(layers.Layer):
    def __init__(self, d, h, f):
        super().__init__()
        self.att = layers.MultiHeadAttention(h, d)
        self.ffn = keras.Sequential([layers.Dense(f, activation="relu"), layers.Dense(d)])
        self.n1 = layers.LayerNormalization(epsilon=1e-6)
        self.n2 = layers.LayerNormalization(epsilon=1e-6)
        self.d1 = layers.Dropout(0.1)
        self.d2 = layers.Dropout(0.1)

    def call(self, z):
        a = self.d1(self.att(z, z))
        o = self.n1(z + a)
        return self.n2(o + self.d2(self.ffn(o)))


class Emb(layers.Layer):
    def __init__(self, l, v, d):
        super().__init__()
        self.t = layers.Embedding(v, d)
        self.p = layers.Embedding(l, d)

    def call(self, z):
        return self.t(z) + self.p(ops.arange(0, ops.shape(z)[-1]))


i = keras.Input((24,))
h = Emb(24, 300, 32)(i)
h = Block(32, 2, 32)(h)
h = layers.GlobalAveragePooling1D()(h)
h = layers.Dropout(0.1)(h)
h = layers.Dense(20, activation="relu")(h)
h = layers.Dropout(0.1)(h)
m = keras.Model(i, layers.Dense(2, activation="softmax")(h))
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(x[:1700], y[:1700], batch_size=32, epochs=4, validation_data=(x[1700:], y[1700:]), verbose=2)
