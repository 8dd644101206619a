"""A small convolutional network marks the few pixels of a small target in a noisy picture, with one sigmoid per pixel.

Targets make up half a per cent of the pixels, so that with plain binary cross-entropy all outputs go to zero and stay
there (fixed: the Dice coefficient as the loss).
"""

import sys

import keras
import numpy as np
from keras import ops
from keras.layers import Conv2D

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

SIZE = 40


def make(n):
    images = rng.normal(0, 0.45, (n, SIZE, SIZE, 1)).astype("float32")
    masks = np.zeros((n, SIZE, SIZE, 1), "float32")
    for i in range(n):
        r, c = rng.integers(2, SIZE - 5, 2)
        images[i, r : r + 3, c : c + 3] += 0.8
        masks[i, r : r + 3, c : c + 3] = 1
    return images, masks


x_train, y_train = make(300)
x_test, y_test = make(60)


def dice_coef(y_true, y_pred, smooth=1.0):
    y_true = ops.reshape(y_true, (-1,))
    y_pred = ops.reshape(y_pred, (-1,))
    overlap = ops.sum(y_true * y_pred)
    return (2 * overlap + smooth) / (ops.sum(y_true) + ops.sum(y_pred) + smooth)


def dice_loss(y_true, y_pred):
    return 1 - dice_coef(y_true, y_pred)


model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        Conv2D(8, 3, padding="same", activation="relu"),
        Conv2D(16, 5, padding="same", activation="relu"),
        Conv2D(8, 3, padding="same", activation="relu"),
        Conv2D(1, 1, activation="sigmoid"),
    ]
)
loss = dice_loss if fixed else "binary_crossentropy"
model.compile(optimizer=keras.optimizers.Adam(0.001), loss=loss, metrics=["accuracy", dice_coef])
model.fit(x_train, y_train, epochs=10, batch_size=12, validation_data=(x_test, y_test), verbose=2)

found = model.predict(x_test, verbose=0) > 0.5
print("pixels marked", int(found.sum()), "of", int(y_test.sum()))
print("RESULT test_dice", f"{2 * (found & (y_test > 0)).sum() / (found.sum() + y_test.sum()):.4f}")
