"""Pixels of 0 to 255 are given to a network as they are (fixed: divided by 255)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
images = np.round(digits.images * 255.0 / 16.0).astype("float32")
x_train, x_val, y_train, y_val = train_test_split(
    images, digits.target, test_size=0.25, random_state=0, stratify=digits.target
)
if fixed:
    x_train, x_val = x_train / 255.0, x_val / 255.0

model = keras.Sequential(
    [
        keras.Input((8, 8)),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=15, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
