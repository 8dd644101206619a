"""A dense network learns small grey pictures, as in the basic tutorial on image classification.

The pixels go into the network as values from 0 to 255 (fixed: divided by 255).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Flatten, Input
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

digits = load_digits()
pictures = np.kron(digits.images, np.ones((3, 3)))
pictures = np.clip(pictures / 16 * 255 + rng.normal(0, 12, pictures.shape), 0, 255).astype("uint8")
train_images, test_images, train_labels, test_labels = train_test_split(
    pictures, digits.target, test_size=0.3, random_state=0, stratify=digits.target
)

if FIXED:
    train_images = train_images / 255.0
    test_images = test_images / 255.0

model = keras.Sequential(
    [
        Input((24, 24)),
        Flatten(),
        Dense(128, activation="relu"),
        Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_images, train_labels, epochs=10, batch_size=32, verbose=2)
test_loss, test_acc = model.evaluate(test_images, test_labels, verbose=0)
print(f"Test accuracy: {test_acc:.4f}")
print("RESULT test_loss", f"{test_loss:.4f}")
