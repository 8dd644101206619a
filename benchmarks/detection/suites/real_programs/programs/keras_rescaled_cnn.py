"""Images divided by 255 are divided by 255 once more in the model (fixed: only once)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)


def draw(kind, size=28):
    image = rng.integers(0, 60, (size, size, 3))
    rows, columns = np.mgrid[:size, :size]
    cy, cx, r = rng.integers(10, 18), rng.integers(10, 18), rng.integers(5, 9)
    if kind == 0:
        shape = (rows - cy) ** 2 + (columns - cx) ** 2 <= r * r
    elif kind == 1:
        shape = (abs(rows - cy) <= r * 0.88) & (abs(columns - cx) <= r * 0.88)
    else:
        shape = (rows <= cy + r) & (rows >= cy - r) & (abs(columns - cx) <= (rows - cy + r) / 2)
    image[shape] = rng.integers(90, 256, 3)
    return image.astype("uint8")


def load_images(n):
    kinds = rng.integers(0, 3, n)
    return np.stack([draw(kind) for kind in kinds]), kinds


x_train, y_train = load_images(1000)
x_test, y_test = load_images(300)
x_train = x_train.astype("float32") / 255.0
x_test = x_test.astype("float32") / 255.0

model = keras.Sequential(
    [
        keras.Input(shape=(28, 28, 3)),
        *([] if fixed else [layers.Rescaling(1.0 / 255)]),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=7, validation_data=(x_test, y_test), verbose=2)

print("RESULT test_acc", model.evaluate(x_test, y_test, verbose=0)[1])
