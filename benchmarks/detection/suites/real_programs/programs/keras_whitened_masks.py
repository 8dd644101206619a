"""A small U-Net marks round cells in pictures.

Pictures and masks come from two generators with the same settings and seed. The settings centre and standardise the
masks as well, so the targets of the sigmoid and the binary cross-entropy are no longer 0 and 1 and the loss goes
below zero (fixed: the generator of the masks only flips).
"""

import sys

import keras
import numpy as np
from keras import layers
from keras.src.legacy.preprocessing.image import ImageDataGenerator

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
SIZE, BATCH, EPOCHS = 32, 16, 7


def cells(n):
    yy, xx = np.mgrid[:SIZE, :SIZE]
    pictures = np.zeros((n, SIZE, SIZE, 1), "float32")
    masks = np.zeros((n, SIZE, SIZE, 1), "float32")
    for i in range(n):
        background = 0.3 + 0.15 * np.sin(xx / rng.uniform(3, 9) + rng.uniform(0, 6))
        mask = np.zeros((SIZE, SIZE), bool)
        for _ in range(rng.integers(1, 4)):
            cx, cy, r = rng.uniform(5, SIZE - 5), rng.uniform(5, SIZE - 5), rng.uniform(3, 6)
            mask |= (xx - cx) ** 2 + (yy - cy) ** 2 < r**2
        pictures[i, ..., 0] = np.where(mask, background + 0.35, background) + rng.normal(0, 0.08, (SIZE, SIZE))
        masks[i, ..., 0] = mask
    return pictures, masks


X_train, Y_train = cells(320)
X_val, Y_val = cells(80)

mask_args = {"horizontal_flip": True, "vertical_flip": True}
image_args = {"featurewise_center": True, "featurewise_std_normalization": True, **mask_args}
image_datagen = ImageDataGenerator(**image_args)
mask_datagen = ImageDataGenerator(**(mask_args if FIXED else image_args))
image_datagen.fit(X_train, seed=1)
mask_datagen.fit(Y_train, seed=1)
image_flow = image_datagen.flow(X_train, batch_size=BATCH, seed=1)
mask_flow = mask_datagen.flow(Y_train, batch_size=BATCH, seed=1)


def train_generator():
    while True:
        yield next(image_flow), next(mask_flow)


def block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


inputs = keras.Input((SIZE, SIZE, 1))
c1 = block(inputs, 8)
c2 = block(layers.MaxPooling2D()(c1), 16)
c3 = block(layers.MaxPooling2D()(c2), 32)
u2 = block(layers.concatenate([layers.UpSampling2D()(c3), c2]), 16)
u1 = block(layers.concatenate([layers.UpSampling2D()(u2), c1]), 8)
outputs = layers.Conv2D(1, 1, activation="sigmoid")(u1)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])

X_val = image_datagen.standardize(X_val.copy())
model.fit(
    train_generator(), steps_per_epoch=len(X_train) // BATCH, validation_data=(X_val, Y_val), epochs=EPOCHS, verbose=2
)

found = model.predict(X_val, verbose=0) > 0.5
true = Y_val > 0.5
print("RESULT iou", f"{(found & true).sum() / (found | true).sum():.4f}")
