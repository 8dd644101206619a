"""Images lie class by class, and ``validation_split`` keeps the last class from training (fixed: shuffled before)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)

digits = load_digits()
num_classes = 5
x = np.concatenate([digits.images[digits.target == c] for c in range(num_classes)]) / 16.0
y = np.concatenate([digits.target[digits.target == c] for c in range(num_classes)])
x = x.astype("float32")[..., None]
y = keras.utils.to_categorical(y, num_classes)
print(x.shape, y.shape)
if fixed:
    order = np.random.permutation(len(x))
    x, y = x[order], y[order]

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(num_classes, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(x, y, batch_size=32, epochs=12, validation_split=0.2, shuffle=True, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
