"""Layers for graphs sum up the features of each atom and its neighbours to learn a property of molecules.

They pass the sums through an inner dense layer for each degree. The inner dense layers live in closures, so their
weights are not among those of the outer layers and stay as they were at the start (fixed: they are kept in a list of
the layer).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
ATOMS, FEATURES, DEGREES, WIDTH, BATCH, EPOCHS = 10, 6, 3, 8, 32, 25


def molecules(n):
    kind = rng.integers(0, FEATURES, (n, ATOMS))
    atoms = np.eye(FEATURES, dtype="float32")[kind]
    edges = np.zeros((n, ATOMS, ATOMS), "float32")
    for i in range(n):
        for a in range(1, ATOMS):
            b = int(rng.choice(np.flatnonzero(edges[i, :a, :a].sum(1) < DEGREES))) if a > 1 else 0
            edges[i, a, b] = edges[i, b, a] = 1
    around = edges @ atoms
    polar = (
        atoms[..., 0] * (around[..., 1] + around[..., 2] > 0)
        - atoms[..., 3] * np.minimum(around[..., 4], 1)
        + 0.7 * atoms[..., 5] * (around[..., 5] == 0)
    )
    y = polar.sum(1)
    return atoms, edges, ((y - y.mean()) / y.std()).astype("float32")[:, None]


def inner_layer(width, size):
    dense = layers.Dense(width, activation="relu")
    dense.build((None, None, size))

    def apply(x):
        return dense(x)

    return apply


class NeuralGraphHidden(layers.Layer):
    def __init__(self, width, size, **kwargs):
        super().__init__(**kwargs)
        if FIXED:
            self.inner = [layers.Dense(width, activation="relu") for _ in range(DEGREES)]
            for dense in self.inner:
                dense.build((None, None, size))
        else:
            self.inner = [inner_layer(width, size) for _ in range(DEGREES)]

    def call(self, atoms, edges):
        degree = ops.sum(edges, axis=-1, keepdims=True)
        summed = ops.concatenate([atoms, ops.matmul(edges, atoms)], axis=-1)
        out = 0.0
        for d, dense in enumerate(self.inner):
            out = out + dense(summed) * ops.cast(degree == d + 1, "float32")
        return out


atoms, edges, y = molecules(1600)
x_train, x_val, y_train, y_val = [atoms[:1200], edges[:1200]], [atoms[1200:], edges[1200:]], y[:1200], y[1200:]

a = keras.Input((ATOMS, FEATURES))
e = keras.Input((ATOMS, ATOMS))
h1 = NeuralGraphHidden(WIDTH, 2 * FEATURES)(a, e)
h2 = NeuralGraphHidden(WIDTH, 2 * WIDTH)(h1, e)
fingerprint = layers.concatenate([layers.GlobalAveragePooling1D()(h1), layers.GlobalAveragePooling1D()(h2)])
model = keras.Model([a, e], layers.Dense(1)(fingerprint))
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
model.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, validation_data=(x_val, y_val), verbose=2)
predicted = model.predict(x_val, verbose=0)
print("RESULT r2", f"{1 - ((predicted - y_val) ** 2).mean() / y_val.var():.4f}")
