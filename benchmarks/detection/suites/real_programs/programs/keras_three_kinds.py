"""A convolutional network sorts pictures into three kinds: disc, square, cross.

It ends in one sigmoid unit with binary cross-entropy for the labels 0, 1 and 2 (fixed: three softmax units).
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)


def picture(kind, size=24):
    img = np.zeros((size, size))
    yy, xx = np.mgrid[:size, :size]
    cy, cx = np.random.randint(8, 16, 2)
    r = np.random.randint(4, 8)
    if kind == 0:
        img[(yy - cy) ** 2 + (xx - cx) ** 2 <= r * r] = 1
    elif kind == 1:
        img[(abs(yy - cy) <= r * 0.85) & (abs(xx - cx) <= r * 0.85)] = 1
    else:
        img[(abs(yy - cy) <= r) & (abs(xx - cx) <= 1)] = 1
        img[(abs(xx - cx) <= r) & (abs(yy - cy) <= 1)] = 1
    img = img * np.random.uniform(0.6, 1.0) + np.random.normal(0, 0.15, img.shape)
    return np.clip(img, 0, 1)


labels = np.random.randint(0, 3, 1200)
images = np.array([picture(k) for k in labels])[..., None].astype("float32")
x_train, x_val = images[:900], images[900:]
y_train, y_val = labels[:900], labels[900:]

model = Sequential()
model.add(Input(shape=(24, 24, 1)))
model.add(Conv2D(8, (3, 3)))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Conv2D(16, (3, 3)))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Flatten())
model.add(Dense(32))
model.add(Activation("relu"))
model.add(Dropout(0.3))
if fixed:
    model.add(Dense(3))
    model.add(Activation("softmax"))
    model.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
    y_train = keras.utils.to_categorical(y_train, 3)
    y_val = keras.utils.to_categorical(y_val, 3)
else:
    model.add(Dense(1))
    model.add(Activation("sigmoid"))
    model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

model.fit(x_train, y_train, batch_size=16, epochs=8, validation_data=(x_val, y_val), verbose=2)
score = model.evaluate(x_val, y_val, verbose=0)
print("RESULT val_accuracy", f"{score[1]:.4f}")
