"""Filters as large as the picture are trained by SGD at its default rate of 0.01 (fixed: 0.0003)."""

import sys

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Flatten

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

img_rows = img_cols = 140
n_filters = 8
nn_dense = 25
n_classes = 2


def scan(kind):
    img = rng.uniform(0.5, 1, (img_rows, img_cols))
    r = rng.integers(10, 85)
    c = rng.integers(5, 35) if kind == 0 else rng.integers(75, 95)
    img[r : r + 45, c : c + 40] -= 0.45
    return img


kinds = rng.integers(0, 2, 600)
x = np.stack([scan(k) for k in kinds])[..., None].astype("float32")
y = keras.utils.to_categorical(kinds, n_classes)
x_train, y_train, x_val, y_val = x[:480], y[:480], x[480:], y[480:]

model = keras.Sequential()
model.add(keras.Input((img_rows, img_cols, 1)))
model.add(Conv2D(n_filters, (img_rows, img_cols), padding="valid", kernel_initializer="he_normal"))
model.add(Activation("relu"))
model.add(Flatten())
model.add(Dense(nn_dense, kernel_initializer="he_normal"))
model.add(Activation("relu"))
model.add(Dense(n_classes, kernel_initializer="he_normal"))
model.add(Activation("softmax"))
optimizer = keras.optimizers.SGD(learning_rate=0.0003) if fixed else "sgd"
model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=10, validation_data=(x_val, y_val), verbose=2)

score = model.evaluate(x_val, y_val, verbose=0)
print("loss, accuracy:", score)

print("RESULT val_acc", score[1])
