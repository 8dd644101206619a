"""A convolutional network tells pale from bright cells, in batches that sequences of pictures give.

The pictures of the evaluation are not divided by 255, as those of the training are (fixed: they are).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)


def picture(kind, n=20):
    yy, xx = np.mgrid[:n, :n]
    cy, cx = np.random.uniform(7, 13, 2)
    r = np.random.uniform(4, 7)
    body = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
    img = np.random.uniform(70, 120) + np.random.normal(0, 22, (n, n))
    img[body] += np.random.uniform(10, 45) if kind == 0 else np.random.uniform(50, 95)
    return np.clip(img, 0, 255)


def folder(n):
    y = np.arange(n) % 2
    return np.array([picture(k) for k in y], dtype="float32")[..., None], y


class PictureFlow(keras.utils.PyDataset):
    def __init__(self, pictures, labels, batch_size=32, rescale=None, shuffle=True):
        super().__init__()
        self.x, self.y, self.b, self.rescale, self.shuffle = pictures, labels, batch_size, rescale, shuffle
        self.order = np.arange(len(labels))
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.y) / self.b))

    def on_epoch_end(self):
        if self.shuffle:
            np.random.shuffle(self.order)

    def __getitem__(self, i):
        k = self.order[i * self.b : (i + 1) * self.b]
        batch = self.x[k]
        if self.rescale:
            batch = batch * self.rescale
        return batch, self.y[k]


x_train, y_train = folder(900)
x_test, y_test = folder(300)
train_gen = PictureFlow(x_train, y_train, rescale=1.0 / 255)
if fixed:
    test_gen = PictureFlow(x_test, y_test, rescale=1.0 / 255, shuffle=False)
else:
    test_gen = PictureFlow(x_test, y_test, shuffle=False)

model = Sequential(
    [
        Input(shape=(20, 20, 1)),
        Conv2D(12, 5, activation="relu"),
        MaxPooling2D(2),
        Conv2D(16, 3, activation="relu"),
        MaxPooling2D(2),
        Flatten(),
        Dense(32, activation="relu"),
        Dropout(0.2),
        Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.002), metrics=["accuracy"])
model.fit(train_gen, epochs=12, validation_data=test_gen, verbose=2)
score = model.evaluate(test_gen, verbose=0)
print("RESULT test_accuracy", f"{score[1]:.4f}")
