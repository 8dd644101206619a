"""A CNN learns digits from an ``ImageDataGenerator`` and is validated on an array after every epoch.

The generator rescales the training pictures to 0..1, but the validation array stays at 0..255 (fixed: it is divided by
255 too).
"""

import sys

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow.keras.preprocessing.image import ImageDataGenerator

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(12)

d = load_digits()
images = (d.images * 255 / 16).astype("uint8").astype("float32")[..., None]
order = np.random.permutation(len(images))
x_train, y_train = images[order[:1300]], d.target[order[:1300]]
x_test, y_test = images[order[1300:]], d.target[order[1300:]]

datagen = ImageDataGenerator(rescale=1.0 / 255)
train_flow = datagen.flow(x_train, y_train, batch_size=32, seed=1)
validation = (x_test / 255.0, y_test) if fixed else (x_test, y_test)

layers = tf.keras.layers
model = tf.keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.BatchNormalization(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="tanh"),
        layers.Dropout(0.25),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train_flow, epochs=10, validation_data=validation, verbose=2)
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
