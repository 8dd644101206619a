"""An LSTM for three classes ends in one sigmoid with binary cross-entropy (fixed: a softmax of three units)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Activation, Dense, Dropout, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

sequence_size, dimsize = 12, 24
vocabulary = rng.normal(0, 0.6, (300, dimsize)).astype("float32")


def sentences(n):
    y = rng.integers(0, 3, n)
    words = rng.integers(0, 240, (n, sequence_size))
    hint = rng.random((n, sequence_size)) < 0.35
    words[hint] = (240 + 20 * y[:, None] + rng.integers(0, 20, words.shape))[hint]
    return vocabulary[words], y


x_train, y_train = sentences(3000)
x_test, y_test = sentences(600)
if fixed:
    y_train = keras.utils.to_categorical(y_train, 3)
    y_test = keras.utils.to_categorical(y_test, 3)

model = Sequential()
model.add(Input((sequence_size, dimsize)))
model.add(LSTM(48))
model.add(Dropout(0.5))
model.add(Dense(3 if fixed else 1))
model.add(Activation("softmax" if fixed else "sigmoid"))
loss = "categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(loss=loss, optimizer="adam", metrics=["accuracy"])

batch_size = 32
model.fit(x_train, y_train, batch_size=batch_size, epochs=6, validation_data=(x_test, y_test), verbose=2)
score, acc = model.evaluate(x_test, y_test, batch_size=batch_size, verbose=0)
print("Test score:", score)
print("Test accuracy:", acc)

print("RESULT test_acc", acc)
