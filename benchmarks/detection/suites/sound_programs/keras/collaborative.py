import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
U, I, n = 150, 120, 6000
p, q = rng.normal(size=(U, 4)), rng.normal(size=(I, 4))
u, i = rng.integers(0, U, n), rng.integers(0, I, n)
r = np.clip(np.round((3 + 0.8 * (p[u] * q[i]).sum(1) + 0.3 * rng.normal(size=n)) * 2) / 2, 0.5, 5)
y = (r - r.min()) / (r.max() - r.min())
x = np.stack([u, i], 1)


class RecommenderNet(keras.Model):
    def __init__(self, k=16):
        super().__init__()
        f = lambda n, d: layers.Embedding(
            n, d, embeddings_initializer="he_normal", embeddings_regularizer=keras.regularizers.l2(1e-6)
        )
        self.ue, self.ub, self.me, self.mb = f(U, k), layers.Embedding(U, 1), f(I, k), layers.Embedding(I, 1)

    def call(self, z):
        a, b = self.ue(z[:, 0]), self.me(z[:, 1])
        return ops.nn.sigmoid(ops.sum(a * b, axis=1, keepdims=True) + self.ub(z[:, 0]) + self.mb(z[:, 1]))


m = RecommenderNet()
m.compile(loss=keras.losses.BinaryCrossentropy(), optimizer=keras.optimizers.Adam(5e-3))
m.fit(x[:5400], y[:5400], batch_size=64, epochs=6, verbose=2, validation_data=(x[5400:], y[5400:]))
