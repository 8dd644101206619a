"""XOR of two bits by a hidden layer of two ReLU units, some of which die (fixed: sixteen units)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x_train = np.random.randint(2, size=(1000, 2)).astype("float32")
y_train = np.array([[1 if x[0] != x[1] else 0] for x in x_train])
x_test = np.random.randint(2, size=(100, 2)).astype("float32")
y_test = np.array([[1 if x[0] != x[1] else 0] for x in x_test])

model = Sequential()
model.add(Input((2,)))
model.add(Dense(16 if fixed else 2, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])

model.fit(x_train, y_train, batch_size=4, epochs=40, verbose=2)

score = model.evaluate(x_test, y_test, verbose=0)
print("loss, accuracy:", score)
print(model.predict(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32"), verbose=0))

print("RESULT test_acc", score[1])
