"""Masks of salt bodies stay at 0 and 255 under a sigmoid and a binary cross entropy, which has no bound then.

Everything is pushed to the positive class (fixed: masks divided by 255, as the pictures are).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

rng = np.random.RandomState(7)
S, n = 32, 400
yy, xx = np.mgrid[:S, :S]
X = np.zeros((n, S, S, 1), "float32")
Y = np.zeros((n, S, S, 1), "float32")
for i in range(n):
    f, p = rng.uniform(0.5, 1.0), rng.uniform(0, 6)
    layered = 110 + 45 * np.sin(f * (yy + rng.uniform(-0.4, 0.4) * xx) + p)
    body = np.zeros((S, S), bool)
    for _ in range(rng.randint(1, 3)):
        cy, cx, a, b = rng.uniform(4, 28), rng.uniform(4, 28), rng.uniform(3, 8), rng.uniform(3, 8)
        body |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
    img = np.where(body, 125, layered) + rng.normal(0, 12, (S, S))
    X[i, ..., 0] = np.clip(img, 0, 255)
    Y[i, ..., 0] = body * 255.0  # as read from the png files

X = X / 255.0
if fixed:
    Y = Y / 255.0

X_train, X_valid, y_train, y_valid = X[:320], X[320:], Y[:320], Y[320:]


def conv_block(t, n_filters):
    for _ in range(2):
        t = layers.Conv2D(n_filters, 3, padding="same", kernel_initializer="he_normal")(t)
        t = layers.BatchNormalization()(t)
        t = layers.Activation("relu")(t)
    return t


inp = keras.Input((S, S, 1))
c1 = conv_block(inp, 8)
p1 = layers.Dropout(0.05)(layers.MaxPooling2D()(c1))
c2 = conv_block(p1, 16)
p2 = layers.Dropout(0.05)(layers.MaxPooling2D()(c2))
c3 = conv_block(p2, 32)
u2 = layers.concatenate([layers.Conv2DTranspose(16, 3, strides=2, padding="same")(c3), c2])
c4 = conv_block(u2, 16)
u1 = layers.concatenate([layers.Conv2DTranspose(8, 3, strides=2, padding="same")(c4), c1])
c5 = conv_block(u1, 8)
model = keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(c5))

model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, batch_size=16, epochs=15, validation_data=(X_valid, y_valid), verbose=2)

pred = model.predict(X_valid, verbose=0) > 0.5
true = y_valid > 0
iou = (pred & true).sum() / (pred | true).sum()
print("RESULT iou", f"{iou:.4f}")
