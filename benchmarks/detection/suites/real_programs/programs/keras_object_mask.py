"""A small encoder and decoder, in the manner of SegNet, marks the pixels that belong to an object.

The masks, targets of a binary cross entropy, are 0 and 255, so the loss is negative and everything is called object
(fixed: 0 and 1).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)


def load(n, size=32):
    """Colour pictures 0..255 and grey masks as the png files hold them."""
    yy, xx = np.mgrid[:size, :size]
    pictures = rng.normal(110, 25, (n, size, size, 3))
    masks = np.zeros((n, size, size, 1))
    for i in range(n):
        cy, cx = rng.integers(8, size - 8, 2)
        r = rng.integers(4, 9)
        inside = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
        masks[i, inside, 0] = 255
        pictures[i, inside] += rng.uniform(25, 60, 3)
    return np.clip(pictures, 0, 255).astype("uint8"), masks.astype("uint8")


def prepare(pictures, masks):
    x = pictures.astype("float32") / 255.0
    y = masks.astype("float32")
    if fixed:
        y = (y > 127).astype("float32")
    return x, y


pictures, masks = load(300)
val_pictures, val_masks = load(80)
x, y = prepare(pictures, masks)
x_val, y_val = prepare(val_pictures, val_masks)

inputs = layers.Input((32, 32, 3))
h = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(24, 3, padding="same", activation="relu")(h)
h = layers.MaxPooling2D()(h)
h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
h = layers.UpSampling2D()(h)
h = layers.Conv2D(24, 3, padding="same", activation="relu")(h)
h = layers.UpSampling2D()(h)
h = layers.Conv2D(16, 3, padding="same", activation="relu")(h)
outputs = layers.Conv2D(1, 1, activation="sigmoid")(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=15, batch_size=16, validation_data=(x_val, y_val), verbose=2)

found = model.predict(x_val, verbose=0)[..., 0] > 0.5
truth = val_masks[..., 0] > 0
print(f"share of pixels called object: {found.mean():.3f}")
print("RESULT iou", f"{float((found & truth).sum() / max((found | truth).sum(), 1)):.4f}")
