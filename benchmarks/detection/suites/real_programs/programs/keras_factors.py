"""A matrix factorisation takes ratings for the dot product of a user's and an item's vector.

An L2 penalty on the whole tables of vectors pulls all of them to zero, and the predictions with them (fixed: a bound
on the norm of each vector in place of the penalty).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers, regularizers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(13)
tf.config.experimental.enable_op_determinism()
USERS, ITEMS, DIM = 300, 200, 8

rng = np.random.default_rng(0)
U, V = rng.normal(0, 1, (USERS, 3)), rng.normal(0, 1, (ITEMS, 3))
R = U @ V.T / np.sqrt(3)
cells = rng.permutation(USERS * ITEMS)[:15000]
u, i = cells // ITEMS, cells % ITEMS
r = (R[u, i] + rng.normal(0, 0.2, len(u))).astype("float32")
tr, te = slice(0, 12000), slice(12000, None)


def table(n, name):
    if fixed:
        return layers.Embedding(n, DIM, embeddings_constraint=keras.constraints.MaxNorm(3.0, axis=1), name=name)
    return layers.Embedding(n, DIM, embeddings_regularizer=regularizers.l2(1e-3), name=name)


user, item = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
p = layers.Flatten()(table(USERS, "users")(user))
q = layers.Flatten()(table(ITEMS, "items")(item))
model = keras.Model([user, item], layers.Dot(axes=1)([p, q]))
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse", metrics=["mse"])


def ids(s):
    return [u[s].reshape(-1, 1), i[s].reshape(-1, 1)]


h = model.fit(ids(tr), r[tr], batch_size=128, epochs=12, validation_data=(ids(te), r[te]), verbose=2)
print("RESULT val_mse", round(float(h.history["val_mse"][-1]), 4))
