"""XOR is learnt from a few thousand random pairs of bits.

Two hidden layers of two units, each with a dropout of one half, cannot hold it (fixed: eight units without dropout).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.RandomState(7)


def make(n):
    x = rng.randint(0, 2, size=(n, 2)).astype("float32")
    y = (x[:, 0] != x[:, 1]).astype("float32")[:, None]
    return x, y


x_train, y_train = make(2400)
x_val, y_val = make(400)
x_test, y_test = make(1000)

model = Sequential()
model.add(Input((2,)))
if fixed:
    model.add(Dense(8, activation="relu"))
else:
    model.add(Dense(2, activation="relu"))
    model.add(Dropout(0.5))
    model.add(Dense(2, activation="relu"))
    model.add(Dropout(0.5))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.003), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=8, epochs=15, validation_data=(x_val, y_val), verbose=2)

_, acc = model.evaluate(x_test, y_test, verbose=0)
print(model.predict(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32"), verbose=0).ravel())
print("RESULT accuracy", f"{acc:.4f}")
