"""Requests are read from files, ten epochs on each, so the first files are forgotten (fixed: all files together)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.RandomState(0)
FEATNUM, SEQ, FILES, PER_FILE = 12, 8, 6, 400
words = rng.randn(FILES, 10, FEATNUM).astype("float32")  # each file has a topic and its vocabulary
good = np.array([rng.permutation(10) < 5 for _ in range(FILES)])


def load_data(topic, n):
    """sequences of word vectors; the label is 1 where most of the words speak for it"""
    idx = rng.randint(0, 10, (n, SEQ))
    idx[:, ::2] = idx[:, :1]
    label = (good[topic][idx].mean(axis=1) > 0.5).astype("float32")
    return words[topic][idx] + 0.1 * rng.randn(n, SEQ, FEATNUM).astype("float32"), label


files = [load_data(t, PER_FILE) for t in range(FILES)]
valid = [load_data(t, 100) for t in range(FILES)]
xv, yv = np.concatenate([v[0] for v in valid]), np.concatenate([v[1] for v in valid])

model = keras.Sequential([keras.Input((SEQ, FEATNUM)), layers.SimpleRNN(40), layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["accuracy"])

NB_EPOCH = 10
if fixed:
    x, y = np.concatenate([f[0] for f in files]), np.concatenate([f[1] for f in files])
    model.fit(x, y, batch_size=32, epochs=NB_EPOCH, validation_data=(xv, yv), verbose=2)
else:
    for x, y in files:
        model.fit(x, y, batch_size=32, epochs=NB_EPOCH, validation_data=(xv, yv), verbose=2)

print("RESULT val_accuracy", f"{model.evaluate(xv, yv, verbose=0)[1]:.4f}")
