"""A CNN learns spectrograms of street sounds from a generator that shuffles the indices and counts its batches.

The count is never reset, so from the second epoch on each batch is all zeros with the label 0 (fixed: shuffle and start
from 0 again at the end of the data).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, MaxPooling2D

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

nb_classes = 10
size = 24
patterns = rng.normal(0, 1, (nb_classes, size, 1)) * 0.8 + rng.normal(0, 1, (nb_classes, 1, size)) * 0.4


def record(n):
    y = rng.integers(0, nb_classes, n)
    x = np.empty((n, size, size, 1), "float32")
    for i in range(n):
        shift = rng.integers(0, size)
        x[i, :, :, 0] = np.roll(patterns[y[i]], shift, axis=1) + rng.normal(0, 1.2, (size, size))
    return x, y


dset_train, meta_train = record(1920)
dset_test, meta_test = record(500)
batch_size = 32


def batch_generator_train():
    idx = np.arange(len(dset_train))
    rng.shuffle(idx)
    count = 0
    while True:
        if fixed and (count + 1) * batch_size > len(idx):
            rng.shuffle(idx)
            count = 0
        idx_tmp = idx[count * batch_size : (count + 1) * batch_size]
        x_train = np.zeros((batch_size, size, size, 1), "float32")
        y_train = np.zeros(batch_size)
        for ii, jj in enumerate(idx_tmp):
            x_train[ii] = dset_train[jj]
            y_train[ii] = meta_train[jj]
        count += 1
        yield x_train, keras.utils.to_categorical(y_train, nb_classes)


model = keras.Sequential(
    [
        keras.Input((size, size, 1)),
        Conv2D(8, 3, activation="relu"),
        MaxPooling2D(),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Flatten(),
        Dense(48, activation="relu"),
        Dense(nb_classes, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(
    batch_generator_train(),
    steps_per_epoch=len(dset_train) // batch_size,
    epochs=5,
    validation_data=(dset_test, keras.utils.to_categorical(meta_test, nb_classes)),
    verbose=2,
)
_, acc = model.evaluate(dset_test, keras.utils.to_categorical(meta_test, nb_classes), verbose=0)
print("RESULT test_accuracy", f"{acc:.4f}")
