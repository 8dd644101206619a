"""A small U-Net marks pipes in drawn photos of a pit, with augmented images and masks.

Images and masks are transformed by two generators whose random transformations are not tied to each other, so that a
mask is flipped and shifted differently from its image (fixed: the same seed for image and mask).
"""

import sys

import keras
import numpy as np
from keras import layers
from keras.src.legacy.preprocessing.image import ImageDataGenerator

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
SIZE = 32


def pit():
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype("float32")
    img = np.empty((SIZE, SIZE, 3), "float32")
    img[...] = np.array([120, 95, 70]) + rng.uniform(-20, 20)
    img += 12 * np.sin(xx[..., None] / rng.uniform(2, 4) + rng.uniform(0, 6))
    angle, dist = rng.uniform(0, np.pi), rng.uniform(-9, 9)
    off = (xx - 16) * np.cos(angle) + (yy - 16) * np.sin(angle) - dist
    width = rng.uniform(2, 4.5)
    mask = np.abs(off) < width
    shade = 1 - 0.5 * (off / width) ** 2
    img[mask] = (np.array([150, 155, 165]) * shade[..., None])[mask]
    img += rng.normal(0, 14, img.shape)
    return np.clip(img, 0, 255), mask[..., None].astype("float32")


pairs = [pit() for _ in range(700)]
x = np.stack([p[0] for p in pairs])
y = np.stack([p[1] for p in pairs])
x_train, y_train, x_val, y_val = x[:560], y[:560], x[560:], y[560:]

args = {
    "horizontal_flip": True,
    "vertical_flip": True,
    "width_shift_range": 0.1,
    "height_shift_range": 0.1,
    "fill_mode": "nearest",
}
image_datagen = ImageDataGenerator(**args)
mask_datagen = ImageDataGenerator(**args)


class PipeBatches(keras.utils.PyDataset):
    def __init__(self, images, masks, batch_size):
        super().__init__()
        self.images, self.masks, self.batch_size = images, masks, batch_size
        self.order = np.arange(len(images))
        self.seed = 0
        np.random.shuffle(self.order)

    def __len__(self):
        return len(self.images) // self.batch_size

    def on_epoch_end(self):
        np.random.shuffle(self.order)

    def __getitem__(self, i):
        xb, yb = [], []
        for j in self.order[i * self.batch_size : (i + 1) * self.batch_size]:
            self.seed += 1
            seed = self.seed if FIXED else None
            xb.append(image_datagen.random_transform(self.images[j], seed=seed))
            yb.append(mask_datagen.random_transform(self.masks[j], seed=seed))
        return np.stack(xb) / 255.0, np.stack(yb)


def unet():
    inputs = keras.Input((SIZE, SIZE, 3))
    c1 = layers.Conv2D(12, 3, padding="same", activation="relu")(inputs)
    p1 = layers.MaxPooling2D()(c1)
    c2 = layers.Conv2D(24, 3, padding="same", activation="relu")(p1)
    p2 = layers.MaxPooling2D()(c2)
    c3 = layers.Conv2D(32, 3, padding="same", activation="relu")(p2)
    u2 = layers.Concatenate()([layers.UpSampling2D()(c3), c2])
    c4 = layers.Conv2D(24, 3, padding="same", activation="relu")(u2)
    u1 = layers.Concatenate()([layers.UpSampling2D()(c4), c1])
    c5 = layers.Conv2D(12, 3, padding="same", activation="relu")(u1)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(c5))


model = unet()
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(PipeBatches(x_train, y_train, 16), validation_data=(x_val / 255.0, y_val), epochs=7, verbose=2)

pred = model.predict(x_val / 255.0, verbose=0) > 0.5
truth = y_val > 0.5
print("RESULT pipe_iou", f"{(pred & truth).sum() / (pred | truth).sum():.4f}")
