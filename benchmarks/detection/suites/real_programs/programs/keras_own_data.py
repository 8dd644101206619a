"""A CNN is trained on pictures of cats, dogs, horses and humans that are read folder by folder.

Labels are given by position, as if the folders came sorted, but ``listdir`` returns another order, so two classes get
wrong labels (fixed: the folders are sorted).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
size = 24
yy, xx = np.mgrid[:size, :size]


def picture(kind):
    cy, cx = rng.uniform(9, 15, 2)
    a, b = {"cats": (4, 4), "dogs": (7, 4), "horses": (4, 9), "humans": (10, 3)}[kind]
    a, b = a * rng.uniform(0.85, 1.15), b * rng.uniform(0.85, 1.15)
    body = ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 <= 1
    img = rng.normal(100, 30, (size, size))
    img[body] += 70
    return np.clip(img, 0, 255)


# the data folder: sub-folders and how many pictures they have
disk = {"cats": 202, "horses": 240, "dogs": 190, "humans": 170}


def listdir():
    return list(disk)


folders = sorted(listdir()) if fixed else listdir()
img_data_list = []
for dataset in folders:
    img_data_list.extend(picture(dataset) for _ in range(disk[dataset]))
img_data = np.array(img_data_list).astype("float32")[..., None] / 255

names = ["cats", "dogs", "horses", "humans"]
labels = np.ones(len(img_data), dtype="int64")
labels[0:202] = 0
labels[202:392] = 1
labels[392:632] = 2
labels[632:] = 3
Y = keras.utils.to_categorical(labels, 4)
order = rng.permutation(len(Y))
x, y = img_data[order], Y[order]
n = int(0.8 * len(x))

model = Sequential(
    [
        Input((size, size, 1)),
        Conv2D(16, 3, padding="same", activation="relu"),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(),
        Dropout(0.3),
        Flatten(),
        Dense(64, activation="relu"),
        Dropout(0.3),
        Dense(4, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
model.fit(x[:n], y[:n], batch_size=16, epochs=14, verbose=2, validation_data=(x[n:], y[n:]))

# new pictures, named by hand
wanted = [names[i % 4] for i in range(200)]
new = np.array([picture(v) for v in wanted]).astype("float32")[..., None] / 255
said = [names[k] for k in model.predict(new, verbose=0).argmax(axis=1)]
print("RESULT accuracy", f"{float(np.mean([a == b for a, b in zip(said, wanted, strict=True)])):.4f}")
