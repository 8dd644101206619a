"""The convolutional network of Keras's CIFAR-10 example sorts small drawn pictures into ten classes.

Adam's learning rate of 0.01 throws the network into a state in which it predicts one class for every picture
(fixed: its default, 0.001).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(11)

SIZE = 16
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def make_images(n):
    """Ten kinds: five shapes, each with two kinds of fill, on a coloured background."""
    labels = rng.integers(0, 10, n)
    out = np.zeros((n, SIZE, SIZE, 3))
    for i, label in enumerate(labels):
        shape, fill = label % 5, label // 5
        cy, cx = rng.uniform(6, 10, 2)
        r = rng.uniform(3.5, 5.5)
        dy, dx = yy - cy, xx - cx
        if shape == 0:
            mask = dy**2 + dx**2 < r**2
        elif shape == 1:
            mask = np.maximum(abs(dy), abs(dx)) < 0.85 * r
        elif shape == 2:
            mask = (abs(dx) < (dy + r) / 2) & (dy < r)
        elif shape == 3:
            mask = (np.minimum(abs(dy), abs(dx)) < 1.5) & (np.maximum(abs(dy), abs(dx)) < r)
        else:
            d = np.sqrt(dy**2 + dx**2)
            mask = (d < r) & (d > r - 2.2)
        back, front = rng.uniform(30, 225, 3), rng.uniform(30, 225, 3)
        while abs(back - front).max() < 90:
            front = rng.uniform(30, 225, 3)
        image = np.tile(back, (SIZE, SIZE, 1))
        colour = np.tile(front, (SIZE, SIZE, 1))
        if fill:
            colour = colour + (((yy + xx) % 2) * 80 - 40)[..., None]
        image[mask] = colour[mask]
        out[i] = image + rng.normal(0, 10, image.shape)
    return np.clip(out, 0, 255).astype("float32"), labels


x_train, y_train = make_images(3000)
x_test, y_test = make_images(800)
x_train /= 255
x_test /= 255
print("x_train shape:", x_train.shape)
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(12, (3, 3), padding="same", activation="relu"),
        layers.Conv2D(12, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Dropout(0.25),
        layers.Conv2D(24, (3, 3), padding="same", activation="relu"),
        layers.Conv2D(24, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]
)
optimizer = keras.optimizers.Adam() if FIXED else keras.optimizers.Adam(learning_rate=0.01)
model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=14, verbose=2, validation_data=(x_test, y_test), shuffle=True)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("predicted classes:", np.bincount(model.predict(x_test, verbose=0).argmax(1), minlength=10))
print("RESULT test_accuracy", f"{accuracy:.4f}")
