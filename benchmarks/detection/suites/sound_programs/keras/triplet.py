import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
rng = np.random.default_rng(0)
by = [np.where(y[:1500] == k)[0] for k in range(10)]
n = 3000
k = rng.integers(0, 10, n)
o = (k + rng.integers(1, 10, n)) % 10
A, P, N = (np.array([rng.choice(by[c]) for c in cs]) for cs in (k, k, o))
i = keras.Input((8, 8, 1))
h = layers.Conv2D(32, 3, activation="relu")(i)
h = layers.BatchNormalization()(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
emb = keras.Model(i, layers.UnitNormalization()(layers.Dense(16)(h)), name="embedding")
a, p, q = (keras.Input((8, 8, 1)) for _ in range(3))
ea, ep, en = emb(a), emb(p), emb(q)
out = layers.Concatenate()(
    [
        layers.Lambda(lambda z: ops.sum(ops.square(z[0] - z[1]), -1, keepdims=True), output_shape=(1,))([ea, ep]),
        layers.Lambda(lambda z: ops.sum(ops.square(z[0] - z[1]), -1, keepdims=True), output_shape=(1,))([ea, en]),
    ]
)
m = keras.Model([a, p, q], out)
m.compile(keras.optimizers.Adam(1e-3), lambda t, z: ops.maximum(z[:, 0] - z[:, 1] + 0.5, 0.0))
m.fit([x[A], x[P], x[N]], np.zeros(n), epochs=5, batch_size=64, verbose=2)
