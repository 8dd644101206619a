"""Batch normalisation of a picture classifier sees batches of one, whose statistics fit no moving average.

Evaluation uses the moving averages (fixed: batches of 28 pictures, and more epochs).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8837)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(3)

CLASSES, PER_CLASS, SIZE = 4, 28, 24


def picture(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    phase = rng.uniform(0, 6.28)
    wave = [
        np.sin(xx * 0.9 + phase),
        np.sin(yy * 0.9 + phase),
        np.sin((xx + yy) * 0.65 + phase),
        np.sin(np.hypot(xx - SIZE / 2, yy - SIZE / 2) * 0.9 + phase),
    ][kind]
    contrast, light = rng.uniform(0.04, 0.35), rng.uniform(0.3, 0.65)
    img = light + contrast * wave[..., None] * rng.uniform(0.6, 1.0, 3)
    return np.clip(img + rng.normal(0, 0.03, img.shape), 0, 1)


labels = np.repeat(np.arange(CLASSES), PER_CLASS)
x_train = np.stack([picture(k) for k in labels]).astype("float32")
y_train = keras.utils.to_categorical(labels, CLASSES)

batch_size = 28 if fixed else 1


def batches():
    while True:
        order = rng.permutation(len(x_train))
        for i in range(0, len(order), batch_size):
            pick = order[i : i + batch_size]
            yield x_train[pick], y_train[pick]


model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(8, 3, strides=2, padding="same"),
        layers.BatchNormalization(),
        layers.Activation("elu"),
        layers.Conv2D(16, 3, strides=2, padding="same"),
        layers.BatchNormalization(),
        layers.Activation("elu"),
        layers.Conv2D(16, 3, padding="same"),
        layers.BatchNormalization(),
        layers.Activation("elu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(batches(), steps_per_epoch=len(x_train) // batch_size, epochs=200 if fixed else 25, verbose=0)
print("accuracy while fitting", history.history["accuracy"][-1])
loss, acc = model.evaluate(x_train, y_train, verbose=0)
print("loss on the same pictures", loss)

print("RESULT accuracy", f"{acc:.4f}")
