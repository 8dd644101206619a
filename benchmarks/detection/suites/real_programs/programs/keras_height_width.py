"""A small CNN learns pictures of digits, which a function of one's own reads from flat rows of pixels.

For the evaluation, height and width are swapped, so that each picture lies on its side
(fixed: in the same order as in training).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(6)

pixels, target = load_digits(return_X_y=True)
rows_train, rows_test, y_train, y_test = train_test_split(
    pixels, target, test_size=0.25, random_state=3, stratify=target
)

height, width = 16, 16


def read(rows):
    small = rows.reshape(-1, 8, 8) / 16
    return np.repeat(np.repeat(small, 2, axis=1), 2, axis=2).reshape(len(rows), height, width, 1).astype("float32")


def read_for_evaluation(rows):
    images = np.empty((len(rows), height, width, 1), "float32")
    for i, row in enumerate(rows):
        small = row.reshape(8, 8) / 16
        for a in range(height):
            for b in range(width):
                if fixed:
                    images[i, a, b, 0] = small[a // 2, b // 2]
                else:
                    images[i, b, a, 0] = small[a // 2, b // 2]
    return images


x_train = read(rows_train)
x_test = read_for_evaluation(rows_test)

model = keras.Sequential(
    [
        keras.Input((height, width, 1)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(32, 3, activation="relu"),
        Flatten(),
        Dense(32, activation="relu"),
        Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=12, batch_size=32, verbose=2)

print("train_accuracy", f"{model.evaluate(x_train, y_train, verbose=0)[1]:.4f}")
print("RESULT test_accuracy", f"{model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
