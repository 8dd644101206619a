"""A small CNN reads digits from one folder per class, with ``validation_split=0.2``.

The pictures are in the order of their classes, so the validation part has the last classes, which are never trained
(fixed: pictures and labels are put into a random order first).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
tf.config.experimental.enable_op_determinism()

digits = load_digits()
pictures, names = [], []
for folder in range(10):  # os.listdir of the class folders
    for img in digits.images[digits.target == folder]:
        pictures.append(img / 16.0)
        names.append(folder)
X = np.array(pictures, dtype="float32")[..., None]
y = keras.utils.to_categorical(names, 10)

if fixed:
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
h = model.fit(X, y, batch_size=32, epochs=12, validation_split=0.2, shuffle=True, verbose=2)
print("RESULT val_accuracy", round(float(h.history["val_accuracy"][-1]), 4))
