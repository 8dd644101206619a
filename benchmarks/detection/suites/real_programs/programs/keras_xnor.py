"""XNOR by two layers of two ReLU units, and a ReLU before cross-entropy (fixed: 20 units each, and a sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(15)

data = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
train = data[:, :-1]
test = data[:, :-1]
train_label = data[:, -1:]
test_label = data[:, -1:]

model = keras.Sequential()
model.add(keras.Input((2,)))
model.add(Dense(20 if fixed else 2, activation="relu"))
model.add(Dense(20 if fixed else 2, activation="relu"))
model.add(Dense(1, activation="sigmoid" if fixed else "relu"))

model.compile(loss="binary_crossentropy", metrics=["accuracy"], optimizer="adam")
model.fit(train, train_label, epochs=300, verbose=0)

score = model.evaluate(test, test_label, verbose=0)
print("loss, accuracy:", score)
print(np.column_stack([test, test_label, model.predict(test, verbose=0)]))

print("RESULT acc", score[1])
