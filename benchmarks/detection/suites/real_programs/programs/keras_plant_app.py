"""A CNN with a Rescaling layer tells diseases of drawn leaves apart and is then used by an app.

The function that prepares the photos of the app divides them by 255, although the model begins with a division by 255
of its own, so that its first convolution sees values of up to 0.004 there (fixed: the function leaves the values from 0
to 255).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

CLASSES = ["healthy", "rust", "mildew", "scorch"]
SIZE = 32


def leaf(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    img = np.zeros((SIZE, SIZE, 3), "float32")
    img[...] = rng.uniform(90, 130, 3)
    cy, cx = rng.uniform(13, 19, 2)
    a, b = rng.uniform(9, 13), rng.uniform(7, 10)
    inside = ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
    img[inside] = np.array([60, 140, 50]) + rng.uniform(-25, 25, 3)
    spots = rng.integers(5, 9)
    if kind == 1:
        for _ in range(spots):
            y, x = rng.normal(cy, 4), rng.normal(cx, 3)
            img[inside & ((yy - y) ** 2 + (xx - x) ** 2 < 3)] = [150, 80, 35]
    elif kind == 2:
        for _ in range(spots):
            y, x = rng.normal(cy, 4), rng.normal(cx, 3)
            img[inside & ((yy - y) ** 2 + (xx - x) ** 2 < 5)] = [190, 195, 180]
    elif kind == 3:
        edge = inside & (((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 > rng.uniform(0.55, 0.75))
        img[edge] = [110, 85, 45]
    img += rng.normal(0, 12, img.shape)
    return np.clip(img, 0, 255).astype("uint8")


labels = rng.integers(0, 4, 1500)
photos = np.stack([leaf(k) for k in labels])
x_train, y_train = photos[:1000], labels[:1000]
x_val, y_val = photos[1000:1200], labels[1000:1200]
x_app, y_app = photos[1200:], labels[1200:]

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Rescaling(1.0 / 255),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(len(CLASSES), activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=8, batch_size=32, verbose=2)


def preprocess_image_array(images):
    images = np.asarray(images, dtype="float32")
    if not FIXED:
        images = images / 255.0
    return images


loss, accuracy = model.evaluate(preprocess_image_array(x_app), y_app, verbose=0)
print("app: loss", round(loss, 4), "accuracy", round(accuracy, 4))
print("RESULT app_accuracy", f"{accuracy:.4f}")
