"""A CNN tells five painting styles apart, fed by a tf.data pipeline.

The pipeline turns the pictures into floats from 0 to 1 with convert_image_dtype and then divides them by 255 again, so
that the network sees values of up to 0.004 (fixed: the pictures are scaled once).
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
SIZE = 28
STYLES = ["strokes", "dots", "blocks", "waves", "plain"]


def painting(style):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype("float32")
    ground = rng.uniform(40, 110, 3)
    paint = ground + rng.uniform(70, 120, 3)
    if rng.random() < 0.5:
        ground, paint = paint, ground
    if style == 0:
        angle = rng.uniform(0.4, 1.1)
        t = np.sin((xx * np.cos(angle) + yy * np.sin(angle)) * rng.uniform(1.2, 1.8) + rng.uniform(0, 6))
    elif style == 1:
        f = rng.uniform(0.9, 1.3)
        t = np.sin(xx * f + rng.uniform(0, 6)) * np.sin(yy * f + rng.uniform(0, 6))
    elif style == 2:
        cells = rng.choice([-1.0, 1.0], (4, 4))
        t = np.kron(cells, np.ones((7, 7)))
    elif style == 3:
        t = np.sin(yy * rng.uniform(0.8, 1.2) + 2 * np.sin(xx * 0.5 + rng.uniform(0, 6)))
    else:
        t = (xx * rng.uniform(-1, 1) + yy * rng.uniform(-1, 1)) / SIZE
    t = (t[..., None] + 1) / 2
    img = ground * (1 - t) + paint * t + rng.normal(0, 14, (SIZE, SIZE, 3))
    return np.clip(img, 0, 255).astype("uint8")


labels = rng.integers(0, len(STYLES), 1800)
pictures = np.stack([painting(k) for k in labels])


def prepare(image, label):
    image = tf.image.convert_image_dtype(image, tf.float32)
    if not FIXED:
        image = image / 255.0
    return image, label


def inputs(images, targets, training):
    ds = tf.data.Dataset.from_tensor_slices((images, targets))
    if training:
        ds = ds.shuffle(len(images), seed=2)
    return ds.map(prepare).batch(32)


train = inputs(pictures[:1300], labels[:1300], True)
valid = inputs(pictures[1300:1500], labels[1300:1500], False)
test = inputs(pictures[1500:], labels[1500:], False)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(48, activation="relu"),
        layers.Dense(len(STYLES), activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=valid, epochs=9, verbose=2)
loss, accuracy = model.evaluate(test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
