"""A CNN tells four kinds of coloured textures apart, fed by an ``ImageDataGenerator``.

It centres and standardises the pictures feature-wise. The validation pictures go to ``fit`` as an array that no
generator has touched, with values of 0 to 255 (fixed: a generator of their own, fitted on the training pictures).
"""

import sys

import keras
import numpy as np
from keras import layers
from tensorflow.keras.preprocessing.image import ImageDataGenerator

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)


def make_pictures(n, size=16):
    rows, cols = np.mgrid[0:size, 0:size]
    labels = rng.integers(0, 4, n)
    pictures = np.zeros((n, size, size, 3), "float32")
    for i, label in enumerate(labels):
        phase, period = rng.uniform(0, 6.3), rng.uniform(3.5, 6)
        along = [rows, cols, (rows + cols) * 0.7, (rows - cols) * 0.7][label]
        wave = np.sin(2 * np.pi * along / period + phase)
        colour = rng.uniform(0.3, 1, 3)
        pictures[i] = 120 + 60 * wave[..., None] * colour + rng.normal(0, 30, (size, size, 3))
    return np.clip(pictures, 0, 255), labels


x_train, y_train = make_pictures(1200)
x_valid, y_valid = make_pictures(400)
y_train = keras.utils.to_categorical(y_train, 4)
y_valid = keras.utils.to_categorical(y_valid, 4)

datagen = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
datagen.fit(x_train)
train_flow = datagen.flow(x_train, y_train, batch_size=32, seed=7)

if fixed:
    valid_datagen = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    valid_datagen.fit(x_train)
    validation = valid_datagen.flow(x_valid, y_valid, batch_size=32, shuffle=False)
else:
    validation = (x_valid, y_valid)

model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train_flow, validation_data=validation, epochs=10, verbose=2)
score = history.history["val_accuracy"][-1]
print("RESULT val_accuracy", f"{score:.4f}")
