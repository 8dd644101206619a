"""A convolutional network reads pictures of handwritten words, which are the digits 1 to 4 in any order.

Its poolings over 3 x 3 and then 9 x 9 throw away most of where the strokes are (fixed: both over 2 x 2).
"""

import sys
from itertools import permutations

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(12)
keras.utils.set_random_seed(12)

digits, kinds = load_digits(return_X_y=True)
digits = (digits.reshape(-1, 8, 8) / 16.0).repeat(2, axis=1).repeat(2, axis=2)
words = ["".join(p) for p in permutations("1234")]
n = 3600
y = rng.randint(0, len(words), n)
X = np.zeros((n, 48, 76, 1), "float32")
for i in range(n):
    top, left = rng.randint(4, 28), rng.randint(0, 8)
    for k, c in enumerate(words[y[i]]):
        pool = np.where(kinds == int(c))[0]
        X[i, top : top + 16, left + 17 * k : left + 17 * k + 16, 0] = digits[rng.choice(pool)]
X_train, y_train, X_test, y_test = X[:3200], y[:3200], X[3200:], y[3200:]
Y_train = keras.utils.to_categorical(y_train, len(words))
Y_test = keras.utils.to_categorical(y_test, len(words))

first, second = ((2, 2), (2, 2)) if fixed else ((3, 3), (9, 9))
model = Sequential(
    [
        Input(shape=(48, 76, 1)),
        Conv2D(8, kernel_size=(2, 2), activation="relu"),
        MaxPooling2D(pool_size=first),
        Conv2D(16, kernel_size=(4, 4), activation="relu"),
        MaxPooling2D(pool_size=second),
        Flatten(),
        Dense(128, activation="relu"),
        Dense(64, activation="sigmoid"),
        Dense(len(words), activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Nadam(learning_rate=0.001), loss="categorical_crossentropy", metrics=["accuracy"]
)
model.fit(X_train, Y_train, validation_data=(X_test, Y_test), epochs=9, batch_size=32, verbose=2)
print("RESULT accuracy", round(float(model.evaluate(X_test, Y_test, verbose=0)[1]), 4))
