"""A Siamese LSTM tells whether two spellings belong to the same name, by the angle between their codes.

The slope of acos is infinite where the cosine is 1, as it is for two equal spellings, and acos itself is NaN where
rounding lifts the cosine above 1: the weights become NaN (fixed: the cosine is clipped to just inside -1 and 1 before
acos).
"""

import math
import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
LENGTH, LETTERS = 9, 14

names = rng.integers(1, LETTERS, (60, LENGTH))


def misspell(name):
    name = name.copy()
    kind = rng.integers(0, 3)
    i = rng.integers(0, LENGTH - 1)
    if kind == 0:
        name[i], name[i + 1] = name[i + 1], name[i]
    elif kind == 1:
        name[i] = rng.integers(1, LETTERS)
    return name


def pairs(n):
    left, right, distance = [], [], []
    for k in range(n):
        a = rng.integers(0, len(names))
        b = a if k % 2 else (a + rng.integers(1, len(names))) % len(names)
        left.append(misspell(names[a]))
        right.append(misspell(names[b]))
        distance.append(float(a != b))
    return np.array(left), np.array(right), np.array(distance, "float32")[:, None]


l_train, r_train, y_train = pairs(2400)
l_test, r_test, y_test = pairs(800)

left_input = keras.Input((LENGTH,), dtype="int32")
right_input = keras.Input((LENGTH,), dtype="int32")
embed = layers.Embedding(LETTERS, 16)
lstm = layers.LSTM(32)
left_code = lstm(embed(left_input))
right_code = lstm(embed(right_input))
cosine = layers.Dot(axes=1, normalize=True)([left_code, right_code])
if FIXED:
    cosine = ops.clip(cosine, -1 + 1e-4, 1 - 1e-4)
angle = ops.arccos(cosine) / math.pi

model = keras.Model([left_input, right_input], angle)
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.005))
model.fit([l_train, r_train], y_train, batch_size=64, epochs=7, verbose=2)

pred = model.predict([l_test, r_test], verbose=0)
right = np.where(y_test > 0.5, pred > 0.3, pred <= 0.3)
print("RESULT test_accuracy", f"{right.mean():.4f}")
