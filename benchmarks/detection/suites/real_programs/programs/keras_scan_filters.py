"""Filters as large as the scan are trained by SGD at its default rate of 0.01 (fixed: 0.0003)."""

import sys

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Flatten, Input
from keras.models import Sequential
from keras.optimizers import SGD

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

n_filters = 8
img_rows = img_cols = 120
n_conv_row = n_conv_col = 120
nn_dense = 25
n_classes = 2
weight_init = "he_normal"

# grey scans between 0 and 1; the second kind has brighter tissue on the other side
n = 500
kind = (rng.random(n) < 0.55).astype(int)
yy, xx = np.mgrid[:img_rows, :img_cols]
left = np.exp(-(((yy - 60) / 25) ** 2 + ((xx - 38) / 16) ** 2))
right = np.exp(-(((yy - 60) / 25) ** 2 + ((xx - 82) / 16) ** 2))
x = 0.45 + 0.08 * rng.normal(0, 1, (n, img_rows, img_cols))
x += 0.3 * np.where(kind[:, None, None] == 1, left, right)
x = np.clip(x, 0, 1).reshape(n, img_rows, img_cols, 1).astype("float32")
y = keras.utils.to_categorical(kind, n_classes)
x_train, y_train, x_test, y_test = x[:400], y[:400], x[400:], y[400:]

model = Sequential()
model.add(Input((img_rows, img_cols, 1)))
model.add(Conv2D(n_filters, (n_conv_row, n_conv_col), padding="valid", kernel_initializer=weight_init))
model.add(Activation("relu"))
model.add(Flatten())
model.add(Dense(nn_dense, kernel_initializer=weight_init))
model.add(Activation("relu"))
model.add(Dense(n_classes, kernel_initializer=weight_init))
model.add(Activation("softmax"))
model.compile(
    loss="categorical_crossentropy", optimizer=SGD(learning_rate=0.0003) if fixed else "sgd", metrics=["accuracy"]
)
model.fit(x_train, y_train, batch_size=32, epochs=25, verbose=2, validation_data=(x_test, y_test))
score = model.evaluate(x_test, y_test, verbose=0)
print("loss, accuracy:", score)

print("RESULT test_acc", score[1])
