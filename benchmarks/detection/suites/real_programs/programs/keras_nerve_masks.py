"""A small U-Net marks a little structure in noisy pictures like those of ultrasound.

The structure covers few pixels, and binary cross-entropy alone leaves masks blank (fixed: the Dice loss is added).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
S = 32


def make(n):
    x = np.zeros((n, S, S, 1), "float32")
    y = np.zeros((n, S, S, 1), "float32")
    yy, xx = np.mgrid[0:S, 0:S]
    for i in range(n):
        speckle = rng.gamma(2.0, 0.5, (S, S))
        base = 0.5 + 0.2 * np.sin(yy / rng.uniform(3, 6) + rng.uniform(0, 6))
        cy, cx = rng.uniform(7, 25, 2)
        m = ((yy - cy) / rng.uniform(1.6, 2.6)) ** 2 + ((xx - cx) / rng.uniform(2, 3.4)) ** 2 < 1
        img = base.copy()
        img[m] += 0.3
        x[i, ..., 0] = img * speckle
        y[i, ..., 0] = m
    return x, y


imgs, masks = make(500)
mean, std = imgs.mean(), imgs.std()
imgs = (imgs - mean) / std


def dice_coef(y_true, y_pred):
    smooth = 1.0
    a, b = ops.reshape(y_true, (-1,)), ops.reshape(y_pred, (-1,))
    return (2.0 * ops.sum(a * b) + smooth) / (ops.sum(a) + ops.sum(b) + smooth)


def bce_dice(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred)) + 1.0 - dice_coef(y_true, y_pred)


inp = keras.Input((S, S, 1))
c1 = layers.Conv2D(8, 3, activation="relu", padding="same")(inp)
c1 = layers.Conv2D(8, 3, activation="relu", padding="same")(c1)
p1 = layers.MaxPooling2D()(c1)
c2 = layers.Conv2D(16, 3, activation="relu", padding="same")(p1)
c2 = layers.Conv2D(16, 3, activation="relu", padding="same")(c2)
u1 = layers.concatenate([layers.UpSampling2D()(c2), c1])
c3 = layers.Conv2D(8, 3, activation="relu", padding="same")(u1)
out = layers.Conv2D(1, 1, activation="sigmoid")(c3)
model = keras.Model(inp, out)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3), loss=bce_dice if fixed else "binary_crossentropy", metrics=["accuracy"]
)
model.fit(imgs[:400], masks[:400], batch_size=16, epochs=12, validation_data=(imgs[400:], masks[400:]), verbose=2)

pred = model.predict(imgs[400:], verbose=0) > 0.5
true = masks[400:] > 0.5
dice = 2 * (pred & true).sum() / (pred.sum() + true.sum() + 1e-9)
print(f"blank masks: {(pred.sum((1, 2, 3)) == 0).sum()} of {len(pred)}")
print("RESULT dice", round(float(dice), 4))
