"""Pictures of digits are read from a folder, with a list of labels made by hand.

``image_dataset_from_directory`` takes the files in the order of their names, the list does not, so labels belong to
other pictures (fixed: the list is sorted by names).
"""

import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(8)

d = load_digits()
N = 1200
img_dir = tempfile.mkdtemp()
label_of = {}
for i in range(N):
    name = f"img_{i}.png"
    pix = np.clip(d.images[i] * 16 + np.random.normal(0, 8, (8, 8)), 0, 255)
    tf.io.write_file(os.path.join(img_dir, name), tf.io.encode_png(pix[..., None].astype("uint8")))
    label_of[name] = int(d.target[i])

# the table of annotations lists the pictures one after the other
names = list(label_of)
if fixed:
    names = sorted(names)
label_list = [label_of[n] for n in names]


def load(subset):
    return tf.keras.utils.image_dataset_from_directory(
        img_dir,
        labels=list(label_list),
        label_mode="int",
        color_mode="grayscale",
        image_size=(8, 8),
        batch_size=32,
        seed=1,
        validation_split=0.2,
        subset=subset,
    )


train_ds, val_ds = load("training").cache(), load("validation").cache()
model = tf.keras.Sequential(
    [
        tf.keras.Input((8, 8, 1)),
        tf.keras.layers.Rescaling(1.0 / 255),
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(train_ds, validation_data=val_ds, epochs=12, verbose=2)
print("RESULT val_accuracy", round(h.history["val_accuracy"][-1], 4))
