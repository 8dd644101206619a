"""A small convolutional network learns five kinds of drawn flowers and then names new pictures.

The pixels are scaled to 0 to 1 in training, but stay at 0 to 255 in the prediction (fixed: scaled there, too).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(9)

CLASSES = ["daisy", "dandelion", "roses", "sunflowers", "tulips"]
SIZE = 24


def take_pictures(n, seed):
    rng = np.random.default_rng(seed)
    petals = np.array([5, 12, 3, 8, 2])
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    y = rng.integers(0, 5, n)
    x = np.zeros((n, SIZE, SIZE, 3))
    for i in range(n):
        cy, cx = rng.uniform(9, 15, 2)
        r = np.hypot(yy - cy, xx - cx)
        a = np.arctan2(yy - cy, xx - cx)
        edge = rng.uniform(6, 9) * (0.7 + 0.3 * np.cos(petals[y[i]] * a + rng.uniform(0, 6.28)))
        mask = (r < edge)[..., None]
        x[i] = np.where(mask, rng.uniform(90, 255, 3), rng.uniform(10, 140, 3))
    x = np.clip(x + rng.normal(0, 12, x.shape), 0, 255).astype("uint8")
    return x, y


def read_and_preprocess(img, label):
    return tf.image.convert_image_dtype(img, tf.float32), label


def load_dataset(x, y, batch_size, training=False):
    ds = tf.data.Dataset.from_tensor_slices((x, y)).map(read_and_preprocess).cache()
    if training:
        ds = ds.shuffle(len(x), seed=0)
    return ds.batch(batch_size).prefetch(1)


x_train, y_train = take_pictures(3000, 0)
x_eval, y_eval = take_pictures(600, 1)
x_new, y_new = take_pictures(600, 2)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(48, activation="relu"),
        layers.Dense(len(CLASSES), activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    load_dataset(x_train, y_train, 32, training=True),
    epochs=10,
    validation_data=load_dataset(x_eval, y_eval, 100),
    verbose=0,
)
for e, (a, b, c, d) in enumerate(
    zip(*(history.history[k] for k in ("loss", "accuracy", "val_loss", "val_accuracy")), strict=True)
):
    print(f"epoch {e + 1}: loss {a:.4f} - accuracy {b:.4f} - val_loss {c:.4f} - val_accuracy {d:.4f}")

instances = x_new.astype("float32")
if FIXED:
    instances = instances / 255.0
predicted = model.predict(instances, verbose=0).argmax(1)
for p, t in zip(predicted[:5], y_new[:5], strict=True):
    print("predicted", CLASSES[p], "- picture of", CLASSES[t])
print("RESULT new_accuracy", f"{np.mean(predicted == y_new):.4f}")
