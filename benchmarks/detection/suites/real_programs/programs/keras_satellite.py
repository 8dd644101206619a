"""A small net segments satellite tiles into five kinds of land, after training on tiles scaled to 0 to 1.

The new tiles go in as they are, from 0 to 255 (fixed: scaled by the scaler of the training tiles).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.preprocessing import MinMaxScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(10)
tf.config.experimental.enable_op_determinism()
S, N_CLASSES = 32, 5
COLOURS = np.array([[60, 16, 152], [132, 41, 246], [110, 193, 228], [254, 221, 58], [226, 169, 41]]) * 0.6 + 40


def tiles(n, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:S, :S]
    y = np.zeros((n, S, S), int)
    for i in range(n):
        p, c = rng.uniform(0, S, (6, 2)), rng.integers(0, N_CLASSES, 6)
        y[i] = c[((yy[..., None] - p[:, 0]) ** 2 + (xx[..., None] - p[:, 1]) ** 2).argmin(-1)]
    x = COLOURS[y] + rng.normal(0, 12, (n, S, S, 3))
    return np.clip(x, 0, 255).astype("uint8"), y


images, masks = tiles(160, 0)
scaler = MinMaxScaler()
train = scaler.fit_transform(images.reshape(-1, 3).astype("float32")).reshape(images.shape)

inp = keras.Input((S, S, 3))
a = layers.Conv2D(12, 3, padding="same", activation="relu")(inp)
b = layers.MaxPooling2D()(a)
b = layers.Conv2D(16, 3, padding="same", activation="relu")(b)
b = layers.Dropout(0.1)(b)
u = layers.concatenate([layers.UpSampling2D()(b), a])
u = layers.Conv2D(12, 3, padding="same", activation="relu")(u)
model = keras.Model(inp, layers.Conv2D(N_CLASSES, 1, activation="softmax")(u))
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, masks[..., None], batch_size=8, epochs=15, validation_split=0.1, verbose=2)

new_images, new_masks = tiles(40, 1)
x = new_images.astype("float32")
if fixed:
    x = scaler.transform(x.reshape(-1, 3)).reshape(x.shape)
loss, acc = model.evaluate(x, new_masks[..., None], verbose=0)
print("new tiles: loss", loss)
print("RESULT new_tiles_accuracy", round(float(acc), 4))
