"""A small convolutional network tells discs from squares, fed by a generator over folders of pictures.

The generator gives one-hot labels by default, but the model has one sigmoid unit. They are broadcast, so that every
picture counts as both classes and the output settles at 0.5 (fixed: class_mode="binary").
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
SIZE = 24


def make_pictures(n, rng):
    """Folder 0: discs, folder 1: squares, in grey values 0 to 255."""
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    images, labels = np.empty((n, SIZE, SIZE, 1), "float32"), np.arange(n) % 2
    for i in range(n):
        cx, cy, r = rng.uniform(8, 16), rng.uniform(8, 16), rng.uniform(4, 7)
        if labels[i]:
            shape = (np.abs(xx - cx) < r * 0.886) & (np.abs(yy - cy) < r * 0.886)
        else:
            shape = (xx - cx) ** 2 + (yy - cy) ** 2 < r * r
        grey = rng.uniform(40, 100) + shape * rng.uniform(60, 130) + rng.normal(0, 18, shape.shape)
        images[i, :, :, 0] = np.clip(grey, 0, 255)
    return images, labels


class Folder:
    def __init__(self, images, labels, rescale):
        self.images, self.labels, self.rescale = images, labels, rescale

    def flow(self, batch_size=32, shuffle=True, class_mode="categorical", seed=0):
        rng = np.random.default_rng(seed)

        def batches():
            order = rng.permutation(len(self.images)) if shuffle else np.arange(len(self.images))
            for start in range(0, len(order), batch_size):
                index = order[start : start + batch_size]
                if class_mode == "categorical":
                    target = np.eye(2, dtype="float32")[self.labels[index]]
                else:
                    target = self.labels[index].astype("float32").reshape(-1, 1)
                yield self.images[index] * self.rescale, target

        signature = (tf.TensorSpec((None, SIZE, SIZE, 1), tf.float32), tf.TensorSpec((None, None), tf.float32))
        return tf.data.Dataset.from_generator(batches, output_signature=signature)


rng = np.random.default_rng(11)
train_folder = Folder(*make_pictures(1600, rng), rescale=1.0 / 255)
valid_folder = Folder(*make_pictures(400, rng), rescale=1.0 / 255)
if FIXED:
    train_gen = train_folder.flow(shuffle=True, class_mode="binary")
    valid_gen = valid_folder.flow(shuffle=False, class_mode="binary")
else:
    train_gen = train_folder.flow(shuffle=True)
    valid_gen = valid_folder.flow(shuffle=False)

model = keras.Sequential(
    [
        layers.Input((SIZE, SIZE, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(train_gen, epochs=12, validation_data=valid_gen, verbose=2)

p = model.predict(valid_folder.images / 255.0, verbose=0)[:, 0]
print("first outputs:", np.round(p[:8], 3))
print("RESULT valid_accuracy", f"{np.mean((p > 0.5) == valid_folder.labels):.4f}")
