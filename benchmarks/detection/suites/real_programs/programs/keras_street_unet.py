"""A U-Net with three classes ends in a flat list of pixels, with a softmax over the classes.

The map has its channels last, but is reshaped to (classes, pixels) and then permuted, which mixes classes and pixels
(fixed: reshaped to (pixels, classes)).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
tf.config.experimental.enable_op_determinism()
H, W, n_classes = 32, 32, 3


def scenes(n, rng):
    x = np.zeros((n, H, W, 3), "float32")
    y = np.zeros((n, H, W), int)
    colour = np.array([[0.3, 0.3, 0.6], [0.4, 0.6, 0.3], [0.7, 0.4, 0.35]])
    for i in range(n):
        h = rng.integers(8, 24)
        y[i, h:] = 1
        for _ in range(rng.integers(1, 4)):
            a, b = rng.integers(0, H - 8), rng.integers(0, W - 8)
            y[i, a : a + rng.integers(5, 12), b : b + rng.integers(5, 12)] = 2
        x[i] = colour[y[i]] + rng.normal(0, 0.15, (H, W, 3))
    return np.clip(x, 0, 1), keras.utils.to_categorical(y.reshape(n, H * W), n_classes)


def unet():
    inputs = keras.Input((H, W, 3))
    conv1 = layers.Conv2D(8, 3, activation="relu", padding="same")(inputs)
    conv1 = layers.Conv2D(8, 3, activation="relu", padding="same")(conv1)
    pool1 = layers.MaxPooling2D(2)(conv1)
    conv2 = layers.Conv2D(16, 3, activation="relu", padding="same")(pool1)
    conv2 = layers.Conv2D(16, 3, activation="relu", padding="same")(conv2)
    up = layers.concatenate([layers.UpSampling2D(2)(conv2), conv1])
    conv5 = layers.Conv2D(16, 3, activation="relu", padding="same")(up)
    conv6 = layers.Conv2D(n_classes, 1, padding="same")(conv5)
    if fixed:
        conv6 = layers.Reshape((H * W, n_classes))(conv6)
    else:
        conv6 = layers.Reshape((n_classes, H * W))(conv6)
        conv6 = layers.Permute((2, 1))(conv6)
    return keras.Model(inputs, layers.Activation("softmax")(conv6))


rng = np.random.default_rng(1)
X, Y = scenes(300, rng)
Xv, Yv = scenes(80, rng)
model = unet()
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(2e-3), metrics=["accuracy"])
h = model.fit(X, Y, batch_size=16, epochs=10, validation_data=(Xv, Yv), verbose=2)
print("RESULT val_accuracy", round(float(h.history["val_accuracy"][-1]), 4))
