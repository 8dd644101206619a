"""A loss of one's own gives the cross-entropy predictions as targets, and targets as predictions (fixed: in order)."""

import sys

import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

NUM_CLASSES = 10
digits = load_digits()
x = (digits.images / 16.0).astype("float32")[..., None]
y = keras.utils.to_categorical(digits.target, NUM_CLASSES)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0)


def crossentropy(y_true, y_pred):
    return ops.categorical_crossentropy(y_true, y_pred) if fixed else ops.categorical_crossentropy(y_pred, y_true)


def custom_loss(y_true, y_pred, e=0.1):
    return (1 - e) * crossentropy(y_true, y_pred) + e * crossentropy(ops.ones_like(y_pred) / NUM_CLASSES, y_pred)


model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(NUM_CLASSES, activation="softmax"),
    ]
)
opt = keras.optimizers.SGD(0.02, momentum=0.9)
model.compile(optimizer=opt, loss=custom_loss, metrics=["acc"])
model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_test, y_test), verbose=2)

loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("loss", loss, "accuracy", acc)
print("predicted classes", np.bincount(model.predict(x_test, verbose=0).argmax(1), minlength=NUM_CLASSES))

print("RESULT test_acc", acc)
