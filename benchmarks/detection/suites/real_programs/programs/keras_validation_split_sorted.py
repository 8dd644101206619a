"""The last fifth of digits in the order of their classes is kept for validation (fixed: shuffled before)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

# collect the pictures one digit after the other, the way they lie in class folders
digits = load_digits()
images, labels = [], []
for digit in range(10):
    of_class = digits.images[digits.target == digit] / 16.0
    images.append(of_class)
    labels.append(np.full(len(of_class), digit))
x = np.concatenate(images).astype("float32")[..., None]
y = np.concatenate(labels)
if fixed:
    order = rng.permutation(len(x))
    x, y = x[order], y[order]

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, validation_split=0.2, batch_size=32, epochs=12, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
