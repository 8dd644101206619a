"""A CNN reads pictures of hand gestures from one folder, which are labelled block by block.

The files come in no order, so labels have nothing to do with the pictures (fixed: file names are sorted first).
"""

import hashlib
import sys

import keras
import numpy as np
from keras import layers
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)

GESTURES = ["nothing", "ok", "peace", "punch", "stop"]
PER = 301
SIZE = 24
yy, xx = np.mgrid[:SIZE, :SIZE]


def hand(gesture):
    picture = np.zeros((SIZE, SIZE))
    cy, cx = 15 + rng.normal(0, 1.3), 12 + rng.normal(0, 1.3)
    if gesture != "nothing":
        picture[(yy - cy) ** 2 + (xx - cx) ** 2 < 26] = 150
        fingers = {"ok": [-4, 0], "peace": [-2, 2], "punch": [], "stop": [-4, -1.5, 1.5, 4]}[gesture]
        for finger in fingers:
            picture[(abs(xx - cx - finger - (cy - yy) * finger * 0.08) < 1) & (yy < cy) & (yy > cy - 12)] = 150
        if gesture == "ok":
            picture[(yy - cy) ** 2 + (xx - cx - 3) ** 2 < 5] = 0
    return np.clip(picture + rng.normal(30, 28, (SIZE, SIZE)), 0, 255)


folder = {f"{gesture}{i:03d}.png": hand(gesture) for gesture in GESTURES for i in range(PER)}


def listdir(folder):
    # as on ext4: the order of the hash table of the directory
    return sorted(folder, key=lambda name: hashlib.md5(name.encode()).hexdigest())


imlist = listdir(folder)
if fixed:
    imlist = sorted(imlist)
immatrix = np.array([folder[name].flatten() for name in imlist], dtype="f")
label = np.ones((len(imlist),), dtype=int)
for block in range(len(GESTURES)):
    label[block * PER : (block + 1) * PER] = block

x_train, x_test, y_train, y_test = train_test_split(immatrix, label, test_size=0.2, random_state=4)
x_train = x_train.reshape(-1, SIZE, SIZE, 1) / 255
x_test = x_test.reshape(-1, SIZE, SIZE, 1) / 255
onehot_train = keras.utils.to_categorical(y_train, 5)
onehot_test = keras.utils.to_categorical(y_test, 5)

model = keras.Sequential(
    [
        layers.Input((SIZE, SIZE, 1)),
        layers.Conv2D(16, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Conv2D(16, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Dropout(0.3),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(5, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, onehot_train, batch_size=32, epochs=15, verbose=2, validation_split=0.2)
print("RESULT test_accuracy", f"{model.evaluate(x_test, onehot_test, verbose=0)[1]:.4f}")
