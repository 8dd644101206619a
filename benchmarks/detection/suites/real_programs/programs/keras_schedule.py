"""A classifier of digits is trained with a callback that sets the learning rate.

It multiplies the current rate by a decay counted in steps, so the rate is practically zero after the first epoch
(fixed: the initial rate, times a slow decay counted in epochs).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(10)

d = load_digits()
x_train, x_val, y_train, y_val = train_test_split(
    (d.data / 16).astype("float32"), d.target, test_size=0.25, random_state=3
)

model = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
start = 0.05
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=start), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
)

steps = int(np.ceil(len(x_train) / 32))
decay = 0.9


def scheduler(epoch, lr):
    if fixed:
        return start * decay ** (epoch / 5)
    return lr * decay ** (epoch * steps)


model.fit(
    x_train,
    y_train,
    batch_size=32,
    epochs=30,
    validation_data=(x_val, y_val),
    callbacks=[keras.callbacks.LearningRateScheduler(scheduler)],
    verbose=2,
)

print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
