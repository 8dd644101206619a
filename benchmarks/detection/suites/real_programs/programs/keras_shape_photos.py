"""Three classes, numbered 0 to 2, are trained by one sigmoid and binary cross-entropy (fixed: a softmax of three)."""

import sys

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
size = 32
yy, xx = np.mgrid[:size, :size]


def photo(kind):
    image = rng.integers(0, 80, (size, size, 3))
    cx, cy = rng.uniform(11, 21, 2)
    r = rng.uniform(6, 9)
    if kind == 0:
        mask = (xx - cx) ** 2 + (yy - cy) ** 2 < r**2
    elif kind == 1:
        mask = (np.abs(xx - cx) < r) & (np.abs(yy - cy) < r) & ((xx + yy) % 6 < 3)
    else:
        mask = (np.abs(xx - cx) < 2.5) | (np.abs(yy - cy) < 2.5)
    image[mask] = rng.integers(120, 255, 3)
    return image


def load(n):
    kinds = rng.integers(0, 3, n)
    images = np.stack([photo(k) for k in kinds]).astype("float32")
    return images / 255.0, kinds


x_train, y_train = load(600)
x_val, y_val = load(240)
if fixed:
    y_train = keras.utils.to_categorical(y_train, 3)
    y_val = keras.utils.to_categorical(y_val, 3)

model = Sequential()
model.add(Input((size, size, 3)))
model.add(Conv2D(8, (3, 3)))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Conv2D(8, (3, 3)))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Conv2D(16, (3, 3)))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(32))
model.add(Activation("relu"))
model.add(Dropout(0.5))
model.add(Dense(3 if fixed else 1))
model.add(Activation("softmax" if fixed else "sigmoid"))

loss = "categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(loss=loss, optimizer="rmsprop", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=16, epochs=12, validation_data=(x_val, y_val), verbose=2)
loss, accuracy = model.evaluate(x_val, y_val, verbose=0)
print(f"val loss {loss:.4f}  val accuracy {accuracy:.3f}")

print("RESULT val_acc", accuracy)
