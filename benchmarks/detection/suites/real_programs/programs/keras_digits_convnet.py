"""The small convolutional network of a Keras example learns digits in 12 epochs with Adadelta.

Adadelta's default learning rate is 0.001, a thousandth of what the example was written for, so that 12 epochs do not
suffice (fixed: a learning rate of 1.0).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(3)

batch_size = 128
num_classes = 10
epochs = 12
img_rows, img_cols = 14, 14


def place(images, labels, copies):
    xs, ys = [], []
    for _ in range(copies):
        for image, label in zip(images, labels, strict=True):
            canvas = np.zeros((img_rows, img_cols), "float32")
            r, c = rng.integers(1, 6, 2)
            canvas[r : r + 8, c : c + 8] = image
            xs.append(canvas)
            ys.append(label)
    return np.stack(xs)[..., None], np.array(ys)


digits = load_digits()
images = np.round(digits.images * (255 / 16)).astype("float32")
a, b, la, lb = train_test_split(images, digits.target, test_size=400, random_state=0, stratify=digits.target)
x_train, y_train = place(a, la, 4)
x_test, y_test = place(b, lb, 2)
x_train /= 255
x_test /= 255
print("x_train shape:", x_train.shape)
y_train = keras.utils.to_categorical(y_train, num_classes)
y_test = keras.utils.to_categorical(y_test, num_classes)

model = keras.Sequential(
    [
        keras.Input((img_rows, img_cols, 1)),
        layers.Conv2D(16, (3, 3), activation="relu"),
        layers.Conv2D(24, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(num_classes, activation="softmax"),
    ]
)
optimizer = keras.optimizers.Adadelta(learning_rate=1.0) if FIXED else keras.optimizers.Adadelta()
model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=2, validation_data=(x_test, y_test))
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("RESULT test_accuracy", f"{score[1]:.4f}")
