"""A small convolutional network sorts images of a folder, which tf.data divides into three parts.

The dataset is shuffled anew in each pass, so take() and skip() give other images each time, and the test images have
been trained on (fixed: validation_split with a seed, and a folder of test images).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
SEED = 21
keras.utils.set_random_seed(SEED)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(SEED)

SIZE, CLASSES = 20, ["cross", "disc", "ring", "square"]
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def draw(name):
    cy, cx = rng.uniform(7, 13, 2)
    r = rng.uniform(4, 6)
    dy, dx = yy - cy, xx - cx
    d = np.sqrt(dy**2 + dx**2)
    mask = {
        "disc": d < r,
        "ring": (d < r) & (d > r - 2.5),
        "square": np.maximum(abs(dy), abs(dx)) < 0.88 * r,
        "cross": (np.minimum(abs(dy), abs(dx)) < 1.6) & (np.maximum(abs(dy), abs(dx)) < r),
    }[name]
    image = np.tile(rng.uniform(20, 110, 3), (SIZE, SIZE, 1))
    image[mask] += rng.uniform(60, 120, 3)
    return np.clip(image + rng.normal(0, 22, image.shape), 0, 255)


def fill(folder, per_class):
    for name in CLASSES:
        os.makedirs(os.path.join(folder, name))
        for i in range(per_class):
            tf.io.write_file(os.path.join(folder, name, f"{i:04d}.png"), tf.io.encode_png(draw(name).astype("uint8")))


root = tempfile.mkdtemp()
data_dir, test_dir = os.path.join(root, "data"), os.path.join(root, "test")
fill(data_dir, 300)
fill(test_dir, 75)
options = {"image_size": (SIZE, SIZE), "batch_size": 20, "seed": SEED, "verbose": False}

if FIXED:
    train = keras.utils.image_dataset_from_directory(data_dir, validation_split=0.2, subset="training", **options)
    val = keras.utils.image_dataset_from_directory(data_dir, validation_split=0.2, subset="validation", **options)
    test = keras.utils.image_dataset_from_directory(test_dir, **options)
else:
    data = keras.utils.image_dataset_from_directory(data_dir, **options)
    n = len(data)
    n_train, n_val = int(n * 0.7), int(n * 0.2)
    train = data.take(n_train)
    val = data.skip(n_train).take(n_val)
    test = data.skip(n_train + n_val)
train = train.map(lambda x, y: (x / 255.0, y))
val = val.map(lambda x, y: (x / 255.0, y))
test = test.map(lambda x, y: (x / 255.0, y))

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(12, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(24, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.4),
        layers.Dense(48, activation="relu"),
        layers.Dropout(0.4),
        layers.Dense(len(CLASSES), activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=val, epochs=18, verbose=2)
loss, accuracy = model.evaluate(test, verbose=0)
print("test loss", loss)
print("RESULT test_accuracy", f"{accuracy:.4f}")
