"""Quantile regression (10/50/90 %) of delivery times with a custom pinball loss; the noise grows with distance."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
n = 6000
dist = rng.gamma(2.0, 3.0, n)
hour = rng.integers(8, 22, n)
rain = rng.random(n) < 0.25
items = rng.poisson(2, n) + 1
rush = np.exp(-(((hour - 18) / 2.0) ** 2))
mean = 12 + 2.6 * dist + 9 * rush + 5 * rain * dist / 6 + 1.1 * items
y = (mean + rng.gumbel(0, 1, n) * (1.5 + 0.45 * dist)).astype("float32")
X = np.stack([dist, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), rain, items], 1).astype("float32")
Xtr, Xte, ytr, yte = X[:4800], X[4800:], y[:4800], y[4800:]
m, s = ytr.mean(), ytr.std()
QS = tf.constant([0.1, 0.5, 0.9])


def pinball(y_true, y_pred):
    e = y_true - y_pred
    return tf.reduce_mean(tf.maximum(QS * e, (QS - 1) * e), axis=-1)


norm = keras.layers.Normalization()
norm.adapt(Xtr)
model = keras.Sequential(
    [
        keras.Input((5,)),
        norm,
        keras.layers.Dense(48, activation="swish"),
        keras.layers.Dense(48, activation="swish"),
        keras.layers.Dense(3),
    ]
)
model.compile(keras.optimizers.Adam(3e-3), loss=pinball)
model.fit(
    Xtr,
    ((ytr - m) / s)[:, None],
    validation_split=0.15,
    epochs=18,
    batch_size=128,
    verbose=2,
    callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.4)],
)
q = model.predict(Xte, verbose=0) * s + m
cover = float(np.mean((yte > q[:, 0]) & (yte < q[:, 2])))
print("coverage of the 80 %% interval: %.3f" % cover)
print("RESULT median_r2 %.4f" % (1 - np.mean((yte - q[:, 1]) ** 2) / yte.var()))
