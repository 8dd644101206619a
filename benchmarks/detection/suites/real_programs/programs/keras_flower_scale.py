"""A CNN learns five kinds of flowers from pictures that ``convert_image_dtype`` brings to 0 to 1.

It is then tested on pictures of its own loader, which divides by 255 after the conversion, so that all test pictures
are almost black (fixed: the division is left out).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

names = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
petals = np.array([[230, 230, 235], [235, 215, 60], [205, 40, 60], [235, 180, 40], [190, 70, 190]])
number = [12, 20, 5, 14, 3]
size = 32


def photograph(n):
    y = rng.integers(0, 5, n)
    x = np.empty((n, size, size, 3), "uint8")
    yy, xx = np.mgrid[0:size, 0:size]
    for i in range(n):
        k = y[i]
        picture = np.array([60, 120, 55]) + rng.normal(0, 25, (size, size, 3))
        cx, cy = rng.uniform(11, 21, 2)
        r = np.hypot(xx - cx, yy - cy)
        a = np.arctan2(yy - cy, xx - cx) + rng.uniform(0, 6.3)
        radius = rng.uniform(7, 11) * (0.75 + 0.25 * np.cos(number[k] * a))
        picture[r < radius] = petals[k] * rng.uniform(0.7, 1.05) + rng.normal(0, 20, (int((r < radius).sum()), 3))
        if k in (0, 3):
            picture[r < 3.5] = (230, 200, 30) if k == 0 else (90, 50, 20)
        x[i] = np.clip(picture, 0, 255)
    return x, y


x_train, y_train = photograph(1600)
x_test, y_test = photograph(400)


def preprocess(image, label):
    return tf.image.convert_image_dtype(image, tf.float32), label


def load_for_prediction(image, label):
    image = tf.image.convert_image_dtype(image, tf.float32)
    if not fixed:
        image = tf.cast(image / 255.0, tf.float32)
    return image, label


train = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1600, seed=1).map(preprocess).batch(32)
test = tf.data.Dataset.from_tensor_slices((x_test, y_test)).map(load_for_prediction).batch(32)

model = keras.Sequential(
    [
        keras.Input((size, size, 3)),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(24, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(48, activation="relu"),
        Dense(5, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=5, verbose=2)

p = model.predict(test, verbose=0).argmax(axis=1)
print({names[k]: int((p == k).sum()) for k in range(5)})
_, acc = model.evaluate(test, verbose=0)
print("RESULT test_accuracy", f"{acc:.4f}")
