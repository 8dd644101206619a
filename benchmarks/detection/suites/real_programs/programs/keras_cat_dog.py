"""A small convolutional network tells drawn cats from drawn dogs.

The pictures came in two parts, and only the first is read, which has nothing but cats (fixed: both parts are read).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SIZE = 24
rows, cols = np.mgrid[0:SIZE, 0:SIZE]


def picture(kind):
    """A head with two ears, pointed or hanging, before a noisy background, grey values 0 to 255."""
    cy, cx, r = 14 + rng.uniform(-2, 2), 12 + rng.uniform(-2, 2), rng.uniform(5, 7)
    image = rng.uniform(40, 120) + rng.normal(0, 22, (SIZE, SIZE))
    shade = rng.uniform(120, 190)
    head = (rows - cy) ** 2 + (cols - cx) ** 2 < r**2
    image[head] += shade / 2
    for side in (-1, 1):
        if kind == "cats":
            top = cy - r - 3
            ear = (rows > top) & (rows < cy - 2) & (abs(cols - (cx + side * r * 0.7)) < (rows - top) / 3)
        else:
            ear = ((rows - cy - 1) / 4) ** 2 + ((cols - (cx + side * (r + 0.5))) / 2) ** 2 < 1
        image[ear & ~head] += shade / 2
    return np.clip(image, 0, 255)


DISK = {"PetImages_1": {"cats": 700}, "PetImages_2": {"dogs": 700}, "test": {"cats": 200, "dogs": 200}}
DISK = {
    folder: {kind: [picture(kind) for _ in range(n)] for kind, n in kinds.items()} for folder, kinds in DISK.items()
}
CLASSES = ["cats", "dogs"]


def load(folders):
    images, labels = [], []
    for folder in folders:
        for kind, pictures in DISK[folder].items():
            images += pictures
            labels += [CLASSES.index(kind)] * len(pictures)
    return np.array(images, dtype="float32")[..., None] / 255, np.array(labels, dtype="float32")


x_train, y_train = load(["PetImages_1", "PetImages_2"] if FIXED else ["PetImages_1"])
x_test, y_test = load(["test"])

model = Sequential(
    [
        Input((SIZE, SIZE, 1)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(2),
        Conv2D(32, 3, activation="relu"),
        MaxPooling2D(2),
        Flatten(),
        Dense(32, activation="relu"),
        Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=8, batch_size=32, verbose=2)
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
