"""Two choices of dense layers are tried in a convolutional network for digits, and the better one is kept.

There is no activation between the dense layers, so that several of them are no more than one (fixed: a ReLU after each
dense layer but the last).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(2)
num_classes = 10
SIZE = 14


def place(images, labels, copies):
    xs, ys = [], []
    for _ in range(copies):
        for image, label in zip(images, labels, strict=True):
            canvas = np.zeros((SIZE, SIZE), "float32")
            r, c = rng.integers(0, 7, 2)
            canvas[r : r + 8, c : c + 8] = image
            xs.append(canvas)
            ys.append(label)
    x = np.stack(xs)[..., None]
    return np.clip(x + rng.normal(0, 25, x.shape), 0, 255).astype("float32") / 255, np.array(ys)


digits = load_digits()
images = digits.images * (255 / 16)
a, b, la, lb = train_test_split(images, digits.target, test_size=600, random_state=0, stratify=digits.target)
b, c, lb, lc = train_test_split(b, lb, test_size=300, random_state=0, stratify=lb)
x_train, y_train = place(a, la, 4)
x_val, y_val = place(b, lb, 3)
x_test, y_test = place(c, lc, 3)
y_train, y_val, y_test = [keras.utils.to_categorical(y, num_classes) for y in (y_train, y_val, y_test)]


def make_model(dense_layer_sizes, filters, kernel_size, pool_size):
    model = keras.Sequential()
    model.add(keras.Input((SIZE, SIZE, 1)))
    model.add(layers.Conv2D(filters, kernel_size))
    model.add(layers.Activation("relu"))
    model.add(layers.MaxPooling2D(pool_size))
    model.add(layers.Dropout(0.1))
    model.add(layers.Flatten())
    for layer_size in dense_layer_sizes:
        model.add(layers.Dense(layer_size))
        if FIXED:
            model.add(layers.Activation("relu"))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(num_classes))
    model.add(layers.Activation("softmax"))
    model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(), metrics=["accuracy"])
    return model


best = None
for sizes in ([64], [64, 64]):
    keras.utils.set_random_seed(1)
    model = make_model(sizes, filters=8, kernel_size=3, pool_size=2)
    model.fit(x_train, y_train, batch_size=64, epochs=14, verbose=2, validation_data=(x_val, y_val))
    score = model.evaluate(x_val, y_val, verbose=0)[1]
    print("dense layers", sizes, f"validation accuracy {score:.4f}")
    if best is None or score > best[0]:
        best = score, sizes, model
print("best:", best[1])
loss, accuracy = best[2].evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
