"""A small U-Net marks the membranes in grey microscope pictures, and then writes the masks of new pictures.

Training reads floating-point pictures and divides them by 255, but the generator of the new pictures divides the bytes
as integers, so every pixel becomes 0 and the masks come out grey (fixed: a division in floating point).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
SIZE = 32


def cells():
    points = rng.uniform(0, SIZE, (7, 2))
    yy, xx = np.mgrid[:SIZE, :SIZE]
    d = np.sort(np.hypot(yy[None] - points[:, 0, None, None], xx[None] - points[:, 1, None, None]), axis=0)
    wall = d[1] - d[0] < 2.0
    img = np.where(wall, 70, 165) + rng.normal(0, 18, (SIZE, SIZE)) + rng.normal(0, 8)
    return np.clip(img, 0, 250).astype("uint8"), np.where(wall, 0, 255).astype("uint8")


def make(n):
    pairs = [cells() for _ in range(n)]
    return np.stack([p[0] for p in pairs])[..., None], np.stack([p[1] for p in pairs])[..., None]


train_img, train_mask = make(200)
test_img, test_mask = make(40)


def adjust_data(img, mask):
    img = img / 255.0
    mask = mask / 255.0
    mask[mask > 0.5] = 1
    mask[mask <= 0.5] = 0
    return img, mask


def train_generator(batch_size):
    while True:
        i = rng.integers(0, len(train_img), batch_size)
        img, mask = train_img[i].astype("float32"), train_mask[i].astype("float32")
        if rng.random() < 0.5:
            img, mask = img[:, :, ::-1], mask[:, :, ::-1]
        yield adjust_data(img, mask)


def test_generator():
    for img in test_img:
        pixels = img / 255.0 if FIXED else img // 255
        yield np.reshape(pixels, (1, *pixels.shape)).astype("float32")


def conv(x, n):
    x = layers.Conv2D(n, 3, activation="relu", padding="same", kernel_initializer="he_normal")(x)
    return layers.Conv2D(n, 3, activation="relu", padding="same", kernel_initializer="he_normal")(x)


inputs = keras.Input((SIZE, SIZE, 1))
conv1 = conv(inputs, 8)
conv2 = conv(layers.MaxPooling2D()(conv1), 16)
drop = layers.Dropout(0.3)(conv(layers.MaxPooling2D()(conv2), 16))
up2 = conv(layers.Concatenate()([conv2, layers.UpSampling2D()(drop)]), 16)
up1 = conv(layers.Concatenate()([conv1, layers.UpSampling2D()(up2)]), 8)
outputs = layers.Conv2D(1, 1, activation="sigmoid")(up1)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(train_generator(8), steps_per_epoch=50, epochs=4, verbose=2)

results = np.concatenate([model.predict_on_batch(x) for x in test_generator()])
truth = test_mask > 127
membrane = (results < 0.5) & ~truth
either = (results < 0.5) | ~truth
print(f"answers from {results.min():.3f} to {results.max():.3f}")
print("RESULT membrane_iou", f"{membrane.sum() / max(either.sum(), 1):.4f}")
