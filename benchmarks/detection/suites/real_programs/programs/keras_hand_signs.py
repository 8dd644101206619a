"""A CNN reads the letters of a sign alphabet in pictures of 28 x 28 pixels.

The softmax has 3 units for 26 letters, and labels outside of them make the loss NaN (fixed: 26 units).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.RandomState(9)

LETTERS = 26


def smooth(a):
    for _ in range(3):
        a = (a + np.roll(a, 1, -1) + np.roll(a, -1, -1) + np.roll(a, 1, -2) + np.roll(a, -1, -2)) / 5
    return a


shapes = smooth(rng.normal(size=(LETTERS, 28, 28)))
shapes = (shapes - shapes.min((1, 2), keepdims=True)) / np.ptp(shapes, axis=(1, 2), keepdims=True)


def make(n):
    lab = rng.randint(0, LETTERS, n)
    pics = np.stack([np.roll(shapes[k], (rng.randint(-2, 3), rng.randint(-2, 3)), (0, 1)) for k in lab])
    pics = np.clip(200 * pics + rng.normal(0, 25, pics.shape), 0, 255)
    return pics[..., None].astype("float32") / 255, lab


x_train, y_train = make(2080)
x_val, y_val = make(520)

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(LETTERS if fixed else 3, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.001),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    jit_compile=True,
)
model.fit(x_train, y_train, batch_size=32, epochs=6, validation_data=(x_val, y_val), verbose=2)

print("RESULT val_accuracy", f"{np.mean(model.predict(x_val, verbose=0).argmax(1) == y_val):.4f}")
