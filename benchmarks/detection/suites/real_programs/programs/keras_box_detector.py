"""A small detector in the manner of YOLO finds a bright box in a picture.

It learns the logarithm of the box's width and height; boxes are scaled to the size of the input. A very thin box gets
the width 0 when it is scaled to whole pixels, and the logarithm of 0 makes the loss infinite and all weights NaN
(fixed: a tiny number is added in the logarithm).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
SIZE, GRID, ANCHOR, BATCH, EPOCHS = 48, 3, 14.0, 16, 20
TINY = keras.backend.epsilon() if FIXED else 0.0
CELL = SIZE // GRID


def photos(n):
    x = rng.normal(0.3, 0.05, (n, SIZE, SIZE, 1)).astype("float32")
    y = np.zeros((n, GRID, GRID, 5), "float32")
    for i in range(n):
        full = rng.integers(300, 1200)
        w, h = np.exp(rng.normal(np.log(0.28), 0.45, 2)).clip(0.005, 0.8) * full
        if rng.random() < 0.004:
            w = rng.uniform(0.003, 0.018) * full
        left, top = rng.uniform(0, full - w), rng.uniform(0, full - h)
        scale = SIZE / full
        x0, y0 = int(left * scale), int(top * scale)
        bw, bh = int(w * scale), int(h * scale)
        x[i, y0 : y0 + max(bh, 1), x0 : x0 + max(bw, 1), 0] += 0.5
        cx, cy = (x0 + bw / 2) / CELL, (y0 + bh / 2) / CELL
        gx, gy = min(int(cx), GRID - 1), min(int(cy), GRID - 1)
        y[i, gy, gx] = [1, cx - gx, cy - gy, bw, bh]
    return x, y


def yolo_loss(y_true, y_pred):
    there = y_true[..., :1]
    raw_true_wh = ops.log(y_true[..., 3:5] / ANCHOR + TINY)
    raw_true_wh = ops.where(there > 0, raw_true_wh, ops.zeros_like(raw_true_wh))
    xy_loss = there * 5.0 * ops.square(y_true[..., 1:3] - ops.sigmoid(y_pred[..., 1:3]))
    wh_loss = there * 0.5 * ops.square(raw_true_wh - y_pred[..., 3:5])
    confidence = ops.binary_crossentropy(there, y_pred[..., :1], from_logits=True)
    return ops.mean(ops.sum(xy_loss, (1, 2, 3)) + ops.sum(wh_loss, (1, 2, 3)) + ops.sum(confidence, (1, 2, 3)))


X_train, y_train = photos(1200)
X_test, y_test = photos(200)
model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(256, activation="relu"),
        layers.Dense(GRID * GRID * 5),
        layers.Reshape((GRID, GRID, 5)),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=yolo_loss)
model.fit(X_train, y_train, batch_size=BATCH, epochs=EPOCHS, verbose=2)

raw = model.predict(X_test, verbose=0)
ious = []
for true, pred in zip(y_test, raw, strict=True):
    gy, gx = np.unravel_index(np.nan_to_num(pred[..., 0]).argmax(), (GRID, GRID))
    ty, tx = np.argwhere(true[..., 0] > 0)[0]
    boxes = []
    for (r, c), (ox, oy, w, h) in (
        ((gy, gx), np.r_[1 / (1 + np.exp(-pred[gy, gx, 1:3])), np.exp(pred[gy, gx, 3:5]) * ANCHOR]),
        ((ty, tx), true[ty, tx, 1:]),
    ):
        boxes.append(
            ((c + ox) * CELL - w / 2, (r + oy) * CELL - h / 2, (c + ox) * CELL + w / 2, (r + oy) * CELL + h / 2)
        )
    a, b = boxes
    common = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    ious.append(common / union if np.isfinite(union) and union > 0 else 0.0)
print("RESULT iou", f"{np.mean(ious):.4f}")
