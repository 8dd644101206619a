"""A network for rotated shapes gets a new head on a frozen convolutional base, and is then fine-tuned as a whole.

After the first stage the layers of the base are set to trainable, but the model is not compiled again, so fit() goes
on with the update it had built before and the base never moves (fixed: compiled again after the layers are set to
trainable).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
SIZE = 24


def draw(kind):
    img = rng.normal(0, 0.15, (SIZE, SIZE, 1)).astype("float32")
    a = rng.uniform(0, np.pi)
    c = SIZE / 2 + rng.uniform(-3, 3, 2)
    yy, xx = np.mgrid[:SIZE, :SIZE] - c[:, None, None]
    u, v = xx * np.cos(a) + yy * np.sin(a), -xx * np.sin(a) + yy * np.cos(a)
    if kind == 0:  # bar
        m = (abs(u) < 8) & (abs(v) < 1.5)
    elif kind == 1:  # cross
        m = ((abs(u) < 6) & (abs(v) < 1.2)) | ((abs(v) < 6) & (abs(u) < 1.2))
    elif kind == 2:  # ring
        r = np.hypot(u, v)
        m = (r < 6) & (r > 4)
    else:  # square outline
        q = np.maximum(abs(u), abs(v))
        m = (q < 6) & (q > 4)
    img[m, 0] += 1.0
    return img


def make(n):
    y = rng.integers(0, 4, n)
    return np.stack([draw(k) for k in y]), y


x_train, y_train = make(1600)
x_test, y_test = make(400)

# a base that was trained before on another task: is the left or the right half of the picture brighter
base = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Conv2D(8, 3, activation="relu", name="block1_conv"),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu", name="block2_conv"),
        layers.MaxPooling2D(),
    ],
    name="base",
)
x_pre = rng.normal(0.3, 0.3, (600, SIZE, SIZE, 1)).astype("float32")
side = rng.integers(0, 2, 600)
x_pre[side == 0, :, :12] += 0.3
x_pre[side == 1, :, 12:] += 0.3
pre = keras.Sequential([base, layers.Flatten(), layers.Dense(1, activation="sigmoid")])
pre.compile(optimizer="adam", loss="binary_crossentropy")
pre.fit(x_pre, side, epochs=3, batch_size=32, verbose=0)

for layer in base.layers:
    layer.trainable = False

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        base,
        layers.GlobalAveragePooling2D(),
        layers.Dense(32, activation="relu"),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
print("head only")
model.fit(x_train, y_train, epochs=4, batch_size=32, validation_data=(x_test, y_test), verbose=2)

for layer in base.layers:
    layer.trainable = True
if FIXED:
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
print("whole network")
model.fit(x_train, y_train, epochs=12, batch_size=32, validation_data=(x_test, y_test), verbose=2)

loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("RESULT accuracy", f"{acc:.4f}")
