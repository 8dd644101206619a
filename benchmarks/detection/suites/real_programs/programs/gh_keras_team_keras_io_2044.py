"""Texts padded at the end, and an LSTM that reads the padding as well (fixed: mask_zero=True in the embedding)."""

import sys

import data
import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
tokens, labels = data.texts(1500, 30, 200)
lengths = np.random.default_rng(1).integers(10, 31, size=(1500, 1))
tokens = np.where(np.arange(30) < lengths, tokens, 0)
tokens = np.pad(tokens, ((0, 0), (0, 90)))
model = keras.Sequential(
    [
        keras.Input((120,), dtype="int32"),
        layers.Embedding(200, 16, mask_zero=fixed),
        layers.LSTM(16),
        layers.Dropout(0.5),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(5e-3), metrics=["accuracy"])
model.fit(tokens[:1200], labels[:1200], epochs=4, batch_size=32, validation_split=0.1, verbose=0)
print("RESULT accuracy", model.evaluate(tokens[1200:], labels[1200:], verbose=0)[1])
