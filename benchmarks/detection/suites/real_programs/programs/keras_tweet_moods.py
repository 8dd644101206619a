"""An embedding and a convolution over words tell positive tweets from negative ones.

``validation_split`` takes the last 30 % of tweets that are sorted by class and topic, so the validation has negative
ones alone (fixed: they are shuffled first).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv1D, Dense, Embedding, Flatten, Input, MaxPooling1D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

vocab_size, max_words = 2500, 24
common = np.arange(1, 1500)
zipf = 1.0 / np.arange(1, len(common) + 1)
zipf /= zipf.sum()


def read_file(label, n):
    """One tweet a line."""
    rows = np.zeros((n, max_words), "int32")
    for i in range(n):
        term = i * 8 // n
        length = rng.integers(10, max_words + 1)
        words = rng.choice(common, length, p=zipf)
        mood = 1500 + label * 500 + term * 60 + rng.integers(0, 60, length)
        rows[i, :length] = np.where(rng.random(length) < 0.16, mood, words)
    return rows


pos, neg = read_file(1, 3660), read_file(0, 4340)
X_train = np.concatenate([pos, neg])
y1 = np.concatenate([np.ones(len(pos)), np.zeros(len(neg))]).astype("float32")

if fixed:
    order = rng.permutation(len(X_train))
    X_train, y1 = X_train[order], y1[order]

model = Sequential()
model.add(Input((max_words,)))
model.add(Embedding(vocab_size, 100))
model.add(Conv1D(filters=32, kernel_size=3, padding="same", activation="relu"))
model.add(MaxPooling1D(pool_size=2))
model.add(Flatten())
model.add(Dense(250, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(X_train, y1, validation_split=0.30, epochs=3, batch_size=128, verbose=2)
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
