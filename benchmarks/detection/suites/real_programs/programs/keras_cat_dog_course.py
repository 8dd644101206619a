"""The classifier of two classes ends in a ReLU, given to categorical cross-entropy (fixed: a softmax)."""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
size = 40
yy, xx = np.mgrid[:size, :size]


def picture(cat):
    img = rng.uniform(0, 0.3, (size, size))
    cy, cx = rng.uniform(16, 24, 2)
    body = ((yy - cy) / 8) ** 2 + ((xx - cx) / (8 if cat else 13)) ** 2 < 1
    img[body] += 0.5
    for side in (-1, 1):
        ex = cx + side * 6
        if cat:
            ear = (np.abs(xx - ex) < (yy - cy + 14) / 2) & (yy < cy - 5) & (yy > cy - 14)
        else:
            ear = (np.abs(xx - ex) < 2.5) & (yy > cy) & (yy < cy + 14)
        img[ear] += 0.4
    return np.clip(img, 0, 1).reshape(size, size, 1)


def dataset(n):
    cats = rng.integers(0, 2, n)
    x = np.array([picture(c) for c in cats], dtype="float32")
    y = np.array([[0, 1] if c else [1, 0] for c in cats], dtype="float32")
    return x, y


x, y = dataset(400)
x_new, y_new = dataset(100)

model = Sequential()
model.add(Input((size, size, 1)))
model.add(Conv2D(16, (11, 11), activation="relu"))
model.add(MaxPooling2D(pool_size=(3, 3), strides=2))
model.add(Flatten())
model.add(Dense(2, activation="softmax" if fixed else "relu"))

model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x, y, epochs=8, verbose=2)

print(model.predict(x_new[:5], verbose=0))
accuracy = model.evaluate(x_new, y_new, verbose=0)[1]
print("accuracy on new pictures:", accuracy)

print("RESULT test_acc", accuracy)
