"""A network with an encoder and two decoders marks a tumour in scans of four sequences, and reconstructs the scans.

The loss for the marks is the Dice coefficient itself, which is minimised, so that the marks avoid the tumour
(fixed: minus the coefficient).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)

size = 24


def scans(n):
    yy, xx = np.mgrid[0:size, 0:size]
    x = np.empty((n, size, size, 4), "float32")
    y = np.zeros((n, size, size, 1), "float32")
    for i in range(n):
        brain = np.hypot((xx - 11.5) / 11, (yy - 11.5) / 9.5) < 1
        cx, cy = rng.uniform(7, 17, 2)
        tumour = brain & (np.hypot((xx - cx) / rng.uniform(2.5, 5), (yy - cy) / rng.uniform(2.5, 5)) < 1)
        gain = np.array([0.5, 0.9, 1.2, -0.4]) * rng.uniform(0.7, 1.3, 4)
        for c in range(4):
            x[i, :, :, c] = brain * rng.uniform(0.8, 1.2) + tumour * gain[c] + rng.normal(0, 0.3, (size, size))
        y[i, :, :, 0] = tumour
    x = (x - x.mean(axis=(1, 2), keepdims=True)) / x.std(axis=(1, 2), keepdims=True)
    return x, y


x_train, y_train = scans(480)
x_test, y_test = scans(100)


def dice_coefficient(y_true, y_pred):
    intersection = ops.sum(ops.abs(y_true * y_pred), axis=(1, 2, 3))
    total = ops.sum(ops.square(y_true), axis=(1, 2, 3)) + ops.sum(ops.square(y_pred), axis=(1, 2, 3))
    return (2.0 * intersection) / (total + 1e-8)


def loss_gt(y_true, y_pred):
    dice = dice_coefficient(y_true, y_pred)
    return -dice if fixed else dice


def conv(x, filters, strides=1):
    return layers.Conv2D(filters, 3, strides=strides, padding="same", activation="relu")(x)


inputs = keras.Input((size, size, 4))
x1 = conv(inputs, 12)
x2 = conv(x1, 24, strides=2)
x3 = conv(conv(x2, 32, strides=2), 32)

u = layers.Concatenate()([layers.UpSampling2D()(x3), x2])
u = conv(u, 24)
u = layers.Concatenate()([layers.UpSampling2D()(u), x1])
u = conv(u, 12)
out_gt = layers.Conv2D(1, 1, activation="sigmoid", name="gt")(u)

v = conv(layers.UpSampling2D()(x3), 16)
v = conv(layers.UpSampling2D()(v), 12)
out_vae = layers.Conv2D(4, 1, name="reconstruction")(v)

model = keras.Model(inputs, {"gt": out_gt, "reconstruction": out_vae})
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss={"gt": loss_gt, "reconstruction": "mse"},
    loss_weights={"gt": 1.0, "reconstruction": 0.1},
    metrics={"gt": [dice_coefficient]},
)
model.fit(
    x_train,
    {"gt": y_train, "reconstruction": x_train},
    batch_size=8,
    epochs=5,
    validation_data=(x_test, {"gt": y_test, "reconstruction": x_test}),
    verbose=2,
)
p = model.predict(x_test, verbose=0)["gt"] > 0.5
t = y_test > 0.5
dice = 2 * (p & t).sum(axis=(1, 2, 3)) / np.maximum(p.sum(axis=(1, 2, 3)) + t.sum(axis=(1, 2, 3)), 1)
print("RESULT test_dice", f"{dice.mean():.4f}")
