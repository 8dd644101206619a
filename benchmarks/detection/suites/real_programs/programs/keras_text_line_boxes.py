"""A CNN gives the centre and height of a text line relative to an anchor.

About one in a hundred annotations has no height, so that the logarithm of its height is minus infinity and the loss is
not finite (fixed: annotations without height are left out).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
H, W, ANCHOR = 32, 32, 11.0


def strip():
    top = rng.uniform(2, 14)
    height = rng.uniform(7, 16)
    img = rng.uniform(0.75, 0.9) + rng.normal(0, 0.05, (H, W))
    x = 1
    while x < W - 2:
        w = int(rng.integers(2, 4))
        letter_top = top if rng.random() < 0.6 else top + 0.25 * height
        img[round(letter_top) : round(top + height), x : x + w] -= rng.uniform(0.4, 0.6)
        x += w + int(rng.integers(1, 3))
    y1, y2 = top, top + height
    if rng.random() < 0.01:
        y2 = y1
    return img[..., None], y1, y2


data = [strip() for _ in range(1500)]
images = np.stack([d[0] for d in data]).astype("float32")
boxes = np.array([d[1:] for d in data])
test_images, test_boxes = images[1200:], boxes[1200:]
keep = test_boxes[:, 1] > test_boxes[:, 0]
test_images, test_boxes = test_images[keep], test_boxes[keep]
images, boxes = images[:1200], boxes[:1200]


def bbox_transform(gt):
    heights = gt[:, 1] - gt[:, 0]
    centres = gt[:, 0] + 0.5 * heights
    return np.stack([(centres - H / 2) / ANCHOR, np.log(heights / ANCHOR)], axis=1).astype("float32")


def bbox_inverse(deltas):
    centres = deltas[:, 0] * ANCHOR + H / 2
    heights = np.exp(deltas[:, 1]) * ANCHOR
    return np.stack([centres - heights / 2, centres + heights / 2], axis=1)


if FIXED:
    valid = boxes[:, 1] > boxes[:, 0]
    images, boxes = images[valid], boxes[valid]
targets = bbox_transform(boxes)

model = keras.Sequential(
    [
        keras.Input((H, W, 1)),
        layers.Conv2D(12, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(2),
    ]
)
model.compile(keras.optimizers.Adam(1e-3), keras.losses.Huber())
model.fit(
    images, targets, batch_size=32, epochs=9, validation_data=(test_images, bbox_transform(test_boxes)), verbose=2
)

pred = bbox_inverse(model.predict(test_images, verbose=0))
inter = np.minimum(pred[:, 1], test_boxes[:, 1]) - np.maximum(pred[:, 0], test_boxes[:, 0])
union = np.maximum(pred[:, 1], test_boxes[:, 1]) - np.minimum(pred[:, 0], test_boxes[:, 0])
iou = np.nan_to_num(np.clip(inter, 0, None) / union)
print("RESULT mean_iou", f"{iou.mean():.4f}")
