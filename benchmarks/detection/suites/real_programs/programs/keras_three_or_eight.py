"""Two digits told apart by a softmax over one unit, which is always 1 (fixed: two units, one-hot targets)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(80265)
tf.config.experimental.enable_op_determinism()

digits = load_digits()
keep = np.isin(digits.target, (3, 8))
x = (digits.images[keep] / 16.0).astype("float32")[..., None]
y = (digits.target[keep] == 8).astype("float32")
order = np.random.default_rng(0).permutation(len(x))
x, y = x[order], y[order]
x_train, y_train, x_test, y_test = x[:260], y[:260], x[260:], y[260:]

units = 2 if fixed else 1
model = keras.Sequential()
model.add(keras.Input((8, 8, 1)))
model.add(layers.Conv2D(16, 3, padding="same", activation="relu"))
model.add(layers.MaxPooling2D())
model.add(layers.Conv2D(32, 3, padding="same", activation="relu"))
model.add(layers.Flatten())
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dropout(0.2))
model.add(layers.Dense(units, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

train_targets = keras.utils.to_categorical(y_train, 2) if fixed else y_train.reshape(-1, 1)
h = model.fit(x_train, train_targets, epochs=25, batch_size=16, verbose=0)
print("loss", h.history["loss"][0], h.history["loss"][-1])

p = model.predict(x_test, verbose=0)
guess = p.argmax(axis=1) if fixed else (p[:, 0] > 0.5).astype(int)

print("RESULT test_accuracy", f"{np.mean(guess == y_test):.4f}")
