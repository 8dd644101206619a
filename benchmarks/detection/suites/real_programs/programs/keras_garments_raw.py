"""A dense network sorts grey pictures of garments into six classes.

The pixels range from 0 to 255 and are not scaled, so the first steps of SGD overshoot and the network learns next to
nothing (fixed: the pixels are divided by 255).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
r, c = np.mgrid[0:28, 0:28]


def garment(kind):
    top, bottom = rng.integers(2, 6), rng.integers(22, 27)
    mid = 13.5 + rng.normal(0, 0.7)
    w = rng.uniform(4.5, 6.5)
    body = (r >= top) & (r <= bottom)
    x = np.abs(c - mid)
    if kind == 0:  # trousers
        m = body & (x < w) & ~((x < 1.3) & (r > top + 5))
    elif kind == 1:  # dress
        m = body & (x < 2.5 + (r - top) * 0.3)
    elif kind == 2:  # T-shirt
        m = (body & (x < w)) | ((r >= top) & (r < top + 6) & (x < w + 6))
    elif kind == 3:  # pullover
        m = (body & (x < w)) | (body & (x > w + 1.5) & (x < w + 5)) | ((r >= top) & (r < top + 3) & (x < w + 5))
    elif kind == 4:  # bag
        m = ((r > 13) & (r <= bottom) & (x < w + 5)) | ((np.abs(np.hypot(r - 13, c - mid) - 6) < 1.2) & (r <= 13))
    else:  # boot
        m = ((r >= top + 6) & (r <= bottom) & (c > mid) & (c < mid + 8)) | (
            (r > bottom - 6) & (r <= bottom) & (c > mid - 10) & (c < mid + 8)
        )
    image = m * rng.uniform(120, 230) + rng.normal(0, 14, (28, 28)) * m + rng.normal(0, 6, (28, 28))
    return np.clip(np.roll(image, rng.integers(-1, 2), axis=1), 0, 255)


def garments(n):
    labels = rng.integers(0, 6, n)
    return np.stack([garment(k) for k in labels]).astype("float32"), labels


train_images, train_labels = garments(3000)
test_images, test_labels = garments(800)
if FIXED:
    train_images = train_images / 255.0
    test_images = test_images / 255.0

model = keras.Sequential(
    [
        keras.Input((28, 28)),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(6, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_images, train_labels, batch_size=50, epochs=6, verbose=2)

test_loss, test_acc = model.evaluate(test_images, test_labels, verbose=0)
print("RESULT test_accuracy", f"{test_acc:.4f}")
