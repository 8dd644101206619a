"""A small convolutional network tells five species of birds apart in pictures.

The learning rate of 1e-6 is too small for the number of steps, so the weights hardly move and the accuracy does not
improve (fixed: 1e-3).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
SIZE = 24
r, c = np.mgrid[0:SIZE, 0:SIZE]
BODY = np.array([[0.75, 0.2, 0.15], [0.2, 0.3, 0.75], [0.75, 0.65, 0.2], [0.35, 0.3, 0.25], [0.75, 0.2, 0.15]])
WING = np.array([[0.3, 0.1, 0.1], [0.1, 0.1, 0.35], [0.2, 0.2, 0.15], [0.6, 0.6, 0.6], [0.85, 0.85, 0.85]])


def bird(species):
    y, x = rng.uniform(11, 15), rng.uniform(10, 13)
    length, height = rng.uniform(6, 8), rng.uniform(3.2, 4.4)
    image = np.ones((SIZE, SIZE, 3)) * (np.array([0.55, 0.7, 0.75]) + rng.normal(0, 0.07, 3))
    body = ((c - x) / length) ** 2 + ((r - y) / height) ** 2 < 1
    head = (c - x - length * 0.9) ** 2 + (r - y + 3) ** 2 < 6
    wing = ((c - x + 1) / (length * 0.6)) ** 2 + ((r - y) / (height * 0.5)) ** 2 < 1
    light = rng.uniform(0.75, 1.1)
    image[body | head] = BODY[species] * light
    image[wing] = WING[species] * light
    if rng.random() < 0.5:
        image = image[:, ::-1]
    return np.clip(image + rng.normal(0, 0.05, image.shape), 0, 1)


def birds(n):
    species = rng.integers(0, 5, n)
    return np.stack([bird(s) for s in species]).astype("float32"), species


x_train, y_train = birds(1600)
x_test, y_test = birds(500)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(5, activation="softmax"),
    ]
)
optimizer = keras.optimizers.Adam(learning_rate=1e-3 if FIXED else 1e-6)
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=6, validation_data=(x_test, y_test), verbose=2)

acc = model.evaluate(x_test, y_test, verbose=0)[1]
print("RESULT test_accuracy", f"{acc:.4f}")
