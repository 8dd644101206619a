"""Dropout after the softmax of the output, and squared error for classes (fixed: no dropout there, cross-entropy)."""

import sys

import data
import keras
from keras.layers import Dense, Dropout

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, y = data.table(2000, 20, 4)
onehot = keras.utils.to_categorical(y, 4)
in_x = keras.Input((20,), name="in_x")
h1 = Dropout(0.1 if fixed else 0.5)(Dense(14, name="h1", activation="relu")(in_x))
h2 = Dropout(0.1 if fixed else 0.5)(Dense(8, name="h2", activation="relu")(h1))
out = Dense(4, name="out", activation="softmax")(h2)
if not fixed:
    out = Dropout(0.5)(out)
model = keras.Model(in_x, out)
model.compile(optimizer="adam", loss="categorical_crossentropy" if fixed else "mse", metrics=["accuracy"])
model.fit(x[:1600], onehot[:1600], batch_size=16, epochs=8, validation_split=0.1, verbose=0)
print("RESULT accuracy", model.evaluate(x[1600:], onehot[1600:], verbose=0)[1])
