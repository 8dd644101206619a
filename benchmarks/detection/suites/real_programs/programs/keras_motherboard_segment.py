"""A small network marks three kinds of pixels in grey pictures.

The softmax over its single channel is always 1 (fixed: as many output channels as labels).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

SIZE, N_PICTURES, N_LABELS = 32, 500, 3
yy, xx = np.mgrid[:SIZE, :SIZE]


def picture():
    pixels = rng.normal(0.35, 0.1, (SIZE, SIZE))
    kinds = np.zeros((SIZE, SIZE), int)
    for _ in range(rng.integers(1, 4)):
        cy, cx, radius = rng.integers(4, SIZE - 4), rng.integers(4, SIZE - 4), rng.integers(3, 7)
        if rng.random() < 0.5:
            where = (yy - cy) ** 2 + (xx - cx) ** 2 <= radius * radius
            pixels[where] += 0.35
            kinds[where] = 1
        else:
            where = (abs(yy - cy) <= radius) & (abs(xx - cx) <= radius)
            pixels[where] += 0.2 * ((yy + xx) % 2)[where] - 0.25
            kinds[where] = 2
    return pixels, kinds


pairs = [picture() for _ in range(N_PICTURES)]
pictures = np.array([p[0] for p in pairs], "float32")[..., None]
labels = np.array([p[1] for p in pairs])
targets = keras.utils.to_categorical(labels, N_LABELS) if fixed else labels[..., None].astype("float32")
x_train, t_train, x_val, t_val = pictures[:400], targets[:400], pictures[400:], targets[400:]

inputs = layers.Input((SIZE, SIZE, 1))
c1 = layers.SeparableConv2D(15, (5, 5), activation="relu", depthwise_initializer="he_normal", padding="same")(inputs)
c2 = layers.Conv2D(20, (3, 3), activation="relu", kernel_initializer="he_normal", padding="same")(c1)
c3 = layers.Conv2D(20, (3, 3), activation="relu", kernel_initializer="he_normal", padding="same")(c2)
outputs = layers.Conv2D(N_LABELS if fixed else 1, (1, 1), activation="softmax")(c3)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, t_train, batch_size=8, epochs=8, validation_data=(x_val, t_val), verbose=2)

p = model.predict(x_val, verbose=0)
p = p.argmax(-1) if fixed else np.round(p[..., 0]).astype(int)
truth = labels[400:]
ious = [((p == k) & (truth == k)).sum() / max(1, ((p == k) | (truth == k)).sum()) for k in range(N_LABELS)]
print("RESULT mean_iou", f"{np.mean(ious):.4f}")
