"""Columns on scales up to thousands, and always the same class predicted (fixed: StandardScaler)."""

import sys

import data
import keras
import numpy as np
from keras.layers import Dense
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, y = data.table(2000, 12)
x = x * np.logspace(-1, 3.5, 12).astype("float32") + np.linspace(0, 5000, 12).astype("float32")
if fixed:
    x = StandardScaler().fit(x[:1600]).transform(x)
model = keras.Sequential(
    [keras.Input((12,)), Dense(12, activation="relu"), Dense(8, activation="relu"), Dense(1, activation="sigmoid")]
)
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.SGD(0.01), metrics=["accuracy"])
model.fit(x[:1600], y[:1600], epochs=10, batch_size=16, validation_split=0.1, verbose=0)
print("RESULT accuracy", model.evaluate(x[1600:], y[1600:], verbose=0)[1])
