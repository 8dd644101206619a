"""Clothes for training lie at -1 to 1, those for validation are divided by 255, too (fixed: both only at -1 to 1)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
SIZE, CLASSES = 20, 5


def picture(kind):
    img = rng.uniform(150, 230, 3) * np.ones((SIZE, SIZE, 3)) + rng.normal(0, 12, (SIZE, SIZE, 3))
    colour = rng.uniform(0, 110, 3)
    r, c = rng.integers(0, 5, 2)
    box = img[r : r + 15, c : c + 15]
    if kind == 0:  # jacket: body and sleeves
        box[3:14, 4:11] = colour
        box[3:7, :] = colour
    elif kind == 1:  # jeans: two legs
        box[0:3, 3:12] = colour
        box[3:15, 3:6] = colour
        box[3:15, 9:12] = colour
    elif kind == 2:  # shoe
        box[9:14, 1:14] = colour
        box[5:9, 1:6] = colour
    elif kind == 3:  # dress
        for i in range(15):
            box[i, 7 - i // 2 : 8 + i // 2] = colour
    else:  # bag
        box[6:14, 2:13] = colour
        box[2:6, 4] = colour
        box[2:6, 10] = colour
        box[2, 4:11] = colour
    return np.clip(img, 0, 255)


def folder(n):
    y = np.repeat(np.arange(CLASSES), n // CLASSES)
    return np.stack([picture(k) for k in y]).astype("float32"), y


class ImageGenerator(keras.utils.PyDataset):
    def __init__(self, x, y, preprocessing, shuffle, batch_size=32):
        super().__init__()
        self.x, self.y, self.pre, self.shuffle, self.batch_size = x, y, preprocessing, shuffle, batch_size
        self.order = np.arange(len(x))
        self.on_epoch_end()

    def __len__(self):
        return (len(self.x) + self.batch_size - 1) // self.batch_size

    def __getitem__(self, i):
        take = self.order[i * self.batch_size : (i + 1) * self.batch_size]
        return self.pre(self.x[take]), keras.utils.to_categorical(self.y[take], CLASSES)

    def on_epoch_end(self):
        if self.shuffle:
            rng.shuffle(self.order)


def preprocess_input(x):
    return x / 127.5 - 1.0


def preprocess_and_rescale(x):
    return preprocess_input(x) / 255.0


train = ImageGenerator(*folder(750), preprocess_input, shuffle=True)
valid = ImageGenerator(*folder(150), preprocess_input if fixed else preprocess_and_rescale, shuffle=False)

model = keras.Sequential(
    [
        layers.Input((SIZE, SIZE, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="categorical_crossentropy", metrics=["accuracy"])
h = model.fit(train, validation_data=valid, epochs=12, verbose=2)

print("RESULT val_accuracy", f"{h.history['val_accuracy'][-1]:.4f}")
