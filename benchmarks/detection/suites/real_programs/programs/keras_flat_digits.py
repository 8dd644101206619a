"""A dense network with one hidden layer learns handwritten digits.

The weights of both layers start at random numbers between 0 and 1, so that the hidden units are large and nearly equal
and the softmax is saturated, which four epochs do not undo (fixed: between -0.05 and 0.05).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(7)

digits = load_digits()
images = np.kron(digits.images, np.ones((1, 3, 3)))  # 24 x 24
images = np.pad(images, ((0, 0), (2, 2), (2, 2))) / 16.0
x_train, x_test, y_train, y_test = train_test_split(
    images.astype("float32"), digits.target, test_size=0.2, random_state=0, stratify=digits.target
)

if FIXED:
    uniform = keras.initializers.RandomUniform(-0.05, 0.05, seed=1)
    uniform_out = keras.initializers.RandomUniform(-0.05, 0.05, seed=2)
else:
    uniform = keras.initializers.RandomUniform(0.0, 1.0, seed=1)
    uniform_out = keras.initializers.RandomUniform(0.0, 1.0, seed=2)

model = keras.Sequential(
    [
        keras.Input((28, 28)),
        layers.Flatten(),
        layers.Dense(512, kernel_initializer=uniform, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(10, kernel_initializer=uniform_out, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=4, validation_data=(x_test, y_test), verbose=2)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
