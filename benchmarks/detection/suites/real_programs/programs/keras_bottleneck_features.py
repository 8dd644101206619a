"""Features of digits come from a shuffled generator, labels in the order of the folders (fixed: not shuffled)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

digits = load_digits()
images, target = (digits.images / 16.0).astype("float32")[..., None], digits.target


class DirectoryIterator(keras.utils.PyDataset):
    """Pictures class after class, as from one folder for each class."""

    def __init__(self, which, of, batch_size=32, shuffle=True):
        super().__init__()
        order = np.concatenate([[i for i in which if target[i] == c] for c in of]).astype(int)
        self.images = images[order]
        self.classes = np.searchsorted(of, target[order])
        self.n, self.batch_size = len(order), batch_size
        self.index = rng.permutation(self.n) if shuffle else np.arange(self.n)

    def __len__(self):
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, i):
        take = self.index[i * self.batch_size : (i + 1) * self.batch_size]
        return (self.images[take],)


everything = rng.permutation(len(target))
train_idx, valid_idx = everything[:1300], everything[1300:]

# the base, trained on the digits 0 to 4
base = keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu", padding="same"),
        layers.Flatten(),
    ]
)
classifier = keras.Sequential([base, layers.Dense(5, activation="softmax")])
classifier.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
old = train_idx[target[train_idx] < 5]
classifier.fit(images[old], target[old], epochs=4, batch_size=32, verbose=2)

# features of the digits 5 to 9
train_gen = DirectoryIterator(train_idx, np.arange(5, 10), shuffle=not fixed)
valid_gen = DirectoryIterator(valid_idx, np.arange(5, 10), shuffle=False)
features_train = base.predict(train_gen, verbose=0)
labels_train = keras.utils.to_categorical(train_gen.classes, 5)
features_valid = base.predict(valid_gen, verbose=0)
labels_valid = keras.utils.to_categorical(valid_gen.classes, 5)

top = keras.Sequential(
    [
        layers.Input(features_train.shape[1:]),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(5, activation="softmax"),
    ]
)
top.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
top.fit(
    features_train, labels_train, epochs=15, batch_size=32, verbose=2, validation_data=(features_valid, labels_valid)
)

print("RESULT val_accuracy", f"{top.evaluate(features_valid, labels_valid, verbose=0)[1]:.4f}")
