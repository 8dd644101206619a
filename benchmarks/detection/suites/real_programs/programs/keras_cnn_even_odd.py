"""A convolutional network tells even from odd digits.

SGD's learning rate of 0.5 is too high, so the output becomes constant (fixed: Adam with 0.001).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(17)

digits = load_digits()
x = (digits.images / 16.0)[..., None].astype("float32")
y = (digits.target % 2).astype("float32")
idx = np.random.permutation(len(x))
x, y = x[idx], y[idx]
x_train, y_train, x_test, y_test = x[:1400], y[:1400], x[1400:], y[1400:]

model = Sequential()
model.add(Input(shape=(8, 8, 1)))
model.add(Conv2D(16, 3, padding="same", activation="relu"))
model.add(Conv2D(32, 3, activation="relu"))
model.add(MaxPooling2D(2))
model.add(Flatten())
model.add(Dense(64, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
opt = keras.optimizers.Adam(learning_rate=0.001) if fixed else keras.optimizers.SGD(learning_rate=0.5, momentum=0.9)
model.compile(loss="binary_crossentropy", optimizer=opt, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=128, epochs=25, shuffle=True, validation_data=(x_test, y_test), verbose=2)

print(model.predict(x_test[:6], verbose=0).ravel())
print("RESULT test_accuracy", f"{model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
