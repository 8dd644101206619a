"""A fully convolutional network segments small street pictures into five classes.

The loader divides the picture and the mask by 255, as for black-and-white masks. But the mask holds class numbers from
0 to 4, which all become 0 when they are cast to integers, so every pixel is background (fixed: only the picture is
divided by 255).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
H = W = 32
N_CLASSES = 5
COLOURS = np.array([[120, 120, 120], [90, 60, 90], [60, 140, 70], [170, 60, 60], [90, 130, 200]])


def scene():
    mask = np.zeros((H, W), "uint8")
    horizon = rng.integers(10, 16)
    mask[:horizon] = 4  # sky
    mask[horizon + rng.integers(3, 6) :] = 1  # road
    for _ in range(rng.integers(1, 4)):  # trees
        x = rng.integers(0, W - 5)
        mask[horizon - 6 : horizon + 4, x : x + 4] = 2
    for _ in range(rng.integers(1, 3)):  # cars
        x, y = rng.integers(0, W - 9), rng.integers(horizon + 5, H - 5)
        mask[y : y + 5, x : x + 8] = 3
    img = COLOURS[mask] + rng.normal(0, 25, (H, W, 3)) + rng.normal(0, 15)
    return np.clip(img, 0, 255).astype("uint8"), mask[..., None]


def make(n):
    pairs = [scene() for _ in range(n)]
    return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])


train_img, train_mask = make(320)
val_img, val_mask = make(80)


def normalize_data(image, mask):
    image = tf.cast(image, tf.float32) / 255.0
    if not FIXED:
        mask = tf.cast(mask, tf.float32) / 255.0
    return image, tf.cast(mask, tf.int32)


def data_batch(images, masks, batch_size, shuffle):
    data = tf.data.Dataset.from_tensor_slices((images, masks))
    if shuffle:
        data = data.shuffle(len(images), seed=11)
    return data.map(normalize_data).batch(batch_size).prefetch(2)


def dense_block(x, filters):
    y = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Concatenate()([x, y])


inputs = keras.Input((H, W, 3))
x = layers.Conv2D(12, 3, padding="same", activation="relu")(inputs)
skip = dense_block(x, 8)
x = layers.MaxPooling2D()(skip)
x = dense_block(x, 12)
x = dense_block(x, 12)
x = layers.Conv2DTranspose(12, 2, strides=2, activation="relu")(x)
x = layers.Concatenate()([x, skip])
x = dense_block(x, 8)
logits = layers.Conv2D(N_CLASSES, 1)(x)
model = keras.Model(inputs, logits)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(
    data_batch(train_img, train_mask, 16, True),
    validation_data=data_batch(val_img, val_mask, 16, False),
    epochs=7,
    verbose=2,
)

pred = model.predict(val_img.astype("float32") / 255.0, verbose=0).argmax(-1)
truth = val_mask[..., 0]
ious = []
for c in range(N_CLASSES):
    inter = np.sum((pred == c) & (truth == c))
    union = np.sum((pred == c) | (truth == c))
    ious.append(inter / max(union, 1))
    print("class", c, f"IoU {ious[-1]:.3f}", "predicted pixels", int(np.sum(pred == c)))
print("RESULT mean_iou", f"{float(np.mean(ious)):.4f}")
