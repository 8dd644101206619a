"""A network answers with one of the whole numbers from 1 to 10, for pictures of digits.

Numbers that stand for classes are learnt as a regression with a squared error, and rounded (fixed: a softmax over ten
classes, with cross entropy).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from keras.optimizers import SGD
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

N = 10
d = load_digits()
numbers = np.random.RandomState(4).permutation(N)[d.target] + 1  # 1..N
x_train, x_test, n_train, n_test = train_test_split(
    (d.data / 16).astype("float32"), numbers, test_size=0.25, random_state=1
)

model = Sequential()
model.add(Input((64,)))
model.add(Dense(48, activation="relu"))
model.add(Dense(24, activation="relu"))
if fixed:
    model.add(Dense(N, activation="softmax"))
    model.compile(optimizer=SGD(0.01, momentum=0.9), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, n_train - 1, epochs=30, batch_size=32, verbose=2)
    output = np.argmax(model.predict(x_test, verbose=0), axis=1) + 1
else:
    model.add(Dense(1))
    model.compile(optimizer=SGD(0.01, momentum=0.9), loss="mean_squared_error", metrics=["mae"])
    model.fit(x_train, n_train.astype("float32"), epochs=30, batch_size=32, verbose=2)
    output = np.rint(model.predict(x_test, verbose=0)[:, 0])

print("RESULT share_right", f"{np.mean(output == n_test):.4f}")
