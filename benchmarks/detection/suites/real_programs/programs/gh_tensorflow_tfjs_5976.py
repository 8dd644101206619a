"""Perceptron on digits in order: the validation split is the end of the data, before shuffling (fixed: shuffled)."""

import sys

import data
import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(x, y), _ = data.digits()
order = np.random.default_rng(1).permutation(len(y)) if fixed else np.argsort(y, kind="stable")
inputs, outputs = x.reshape(-1, 64)[order] / 255, np.eye(10)[y[order]]
model = keras.Sequential([keras.Input((64,))])
model.add(Dense(32, activation="relu"))
model.add(Dense(16, activation="relu"))
model.add(Dense(10, activation="softmax"))
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
done = model.fit(inputs, outputs, batch_size=32, validation_split=0.2, shuffle=True, epochs=8, verbose=0)
print("RESULT accuracy", done.history["val_accuracy"][-1])
