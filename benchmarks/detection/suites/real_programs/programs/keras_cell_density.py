"""A small convolutional network counts cells in drawn pictures by way of a map of their density.

The density is zero almost everywhere and tiny at the cells, so that predicting zero everywhere is good enough for the
loss (fixed: the density is multiplied by 100).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(5)

SIZE = 32
FACTOR = 100.0 if FIXED else 1.0
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def make_data(n):
    images = np.zeros((n, SIZE, SIZE, 1), "float32")
    density = np.zeros((n, SIZE, SIZE, 1), "float32")
    counts = rng.integers(1, 8, n)
    for i, count in enumerate(counts):
        for cy, cx in rng.uniform(4, SIZE - 4, (count, 2)):
            d = (yy - cy) ** 2 + (xx - cx) ** 2
            images[i, :, :, 0] += rng.uniform(60, 140) * np.exp(-d / (2 * rng.uniform(1.5, 2.5) ** 2))
            spot = np.exp(-d / (2 * 2.0**2))
            density[i, :, :, 0] += spot / spot.sum()
    images += 20 + rng.normal(0, 8, images.shape)
    return np.clip(images, 0, 255), density, counts


x_train, d_train, c_train = make_data(320)
x_val, d_val, c_val = make_data(100)
mean, std = x_train.mean(), x_train.std()
x_train = (x_train - mean) / std
x_val = (x_val - mean) / std
d_train = d_train * FACTOR
d_val = d_val * FACTOR


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer="orthogonal")(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(x)


inputs = keras.Input((SIZE, SIZE, 1))
b1 = conv_block(inputs, 8)
b2 = conv_block(layers.MaxPooling2D()(b1), 16)
b3 = conv_block(layers.MaxPooling2D()(b2), 32)
u2 = conv_block(layers.Concatenate()([layers.UpSampling2D()(b3), b2]), 16)
u1 = conv_block(layers.Concatenate()([layers.UpSampling2D()(u2), b1]), 8)
outputs = layers.Conv2D(1, 1, activation="linear", kernel_initializer="orthogonal")(u1)
model = keras.Model(inputs, outputs)
model.compile(loss="mse", optimizer=keras.optimizers.SGD(learning_rate=1e-2, momentum=0.9, nesterov=True))
model.fit(x_train, d_train, batch_size=16, epochs=20, verbose=2, validation_data=(x_val, d_val))

predicted = model.predict(x_val, verbose=0)
print(f"largest density: true {d_val.max() / FACTOR:.4f} predicted {predicted.max() / FACTOR:.4f}")
correlation = np.corrcoef(predicted.ravel(), d_val.ravel())[0, 1]
print(f"correlation of the maps {correlation:.4f}")
counted = predicted.sum((1, 2, 3)) / FACTOR
for true, pred in list(zip(c_val, counted, strict=True))[:5]:
    print(f"cells {true} counted {pred:.2f}")
print("RESULT count_mae", f"{np.mean(np.abs(counted - c_val)):.4f}")
