"""Labels 0 and 1 with a softmax of one unit: accuracy never changes (fixed: sigmoid and binary cross-entropy)."""

import sys

import data
import keras
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, y = data.table(2000, 16)
model = keras.Sequential([keras.Input((16,))])
for width in (64, 32, 32, 16):
    model.add(Dense(width, activation="relu"))
model.add(Dense(1, activation="sigmoid" if fixed else "softmax"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["binary_accuracy"])
model.fit(x[:1600], y[:1600], epochs=8, batch_size=32, verbose=0)
print("RESULT accuracy", model.evaluate(x[1600:], y[1600:], verbose=0)[1])
