"""The moving averages of batch normalisation are too slow for 64 updates (fixed: a momentum of 0.8)."""

import sys

import keras
import numpy as np
from keras.layers import BatchNormalization, Conv2D, Dense, Flatten, Input, LeakyReLU
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(9)
size = 112


def picture(chair):
    img = np.full((size, size, 3), rng.uniform(0.9, 1.0))
    colour = rng.uniform(0.7, 0.85, 3)
    x, w = rng.integers(18, 24), rng.integers(18, 24)
    if chair:
        img[10:34, x : x + 3] = colour
        img[32:37, x : x + w] = colour
        img[36:58, x : x + 3] = colour
        img[36:58, x + w - 3 : x + w] = colour
    else:
        for row in range(10, 26):
            half = 4 + (row - 10) // 2
            img[row, 32 - half : 32 + half] = colour
        img[26:54, 31:34] = colour
        img[54:58, x : x + w] = colour
    return img + rng.normal(0, 0.03, img.shape)


train_labels = np.array([1] * 32 + [0] * 32, dtype="float32")
train_tensors = np.array([picture(label) for label in train_labels], dtype="float32")

model = Sequential()
model.add(Input((size, size, 3)))
model.add(Conv2D(filters=5, kernel_size=[4, 4], strides=2, padding="same"))
model.add(LeakyReLU(negative_slope=0.2))
model.add(Conv2D(filters=10, kernel_size=[4, 4], strides=2, padding="same"))
model.add(BatchNormalization(axis=3, momentum=0.8 if fixed else 0.99))
model.add(LeakyReLU(negative_slope=0.2))
model.add(Flatten())
model.add(Dense(1, activation="sigmoid"))

model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(train_tensors, train_labels, batch_size=8, epochs=8, shuffle=True, verbose=2)

loss, accuracy = model.evaluate(train_tensors, train_labels, verbose=0)
print(f"training data results: loss {loss:.4f} accuracy {accuracy:.3f}")
test_labels = np.array([1] * 50 + [0] * 50, dtype="float32")
test_tensors = np.array([picture(label) for label in test_labels], dtype="float32")
score = model.evaluate(test_tensors, test_labels, verbose=0)
print("new pictures:", score)

print("RESULT test_acc", score[1])
