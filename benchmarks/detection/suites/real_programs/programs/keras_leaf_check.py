"""Leaves are trained on in 0 to 1, but evaluated on in 0 to 255 (fixed: both in 0 to 1)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.RandomState(1)
HEIGHT = WIDTH = 24
CLASSES = 5


def photo(kind):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] - HEIGHT / 2 + rng.uniform(-2, 2, (2, 1, 1))
    a = rng.uniform(0, 2 * np.pi)
    u, v = x * np.cos(a) + y * np.sin(a), -x * np.sin(a) + y * np.cos(a)
    r, phi = np.hypot(u, v), np.arctan2(v, u)
    s = rng.uniform(0.85, 1.15)
    inside = [
        r < 8 * s,
        (u / 10) ** 2 + (v / 4) ** 2 < s,
        r < 7 * s * (1 + 0.5 * np.cos(3 * phi)),
        r < 7 * s * (1 + 0.5 * np.cos(5 * phi)),
        (abs(u) < 7 * s) & (abs(v) < 5 * s),
    ][kind]
    img = np.full((HEIGHT, WIDTH, 3), rng.uniform(0.55, 0.9))
    img[inside] = [rng.uniform(0.1, 0.3), rng.uniform(0.35, 0.6), rng.uniform(0.05, 0.2)]
    img += 0.05 * rng.randn(*img.shape)
    return (np.clip(img, 0, 1) * 255).astype(np.uint8)


def folder(n):
    labels = rng.randint(0, CLASSES, n)
    return np.array([photo(k) for k in labels]), labels


class ImageGenerator(keras.utils.PyDataset):
    def __init__(self, images, labels, rescale=1.0 / 255, batch_size=32, shuffle=False):
        super().__init__()
        self.images, self.labels, self.rescale = images, labels, rescale
        self.batch_size, self.shuffle = batch_size, shuffle
        self.order = np.arange(len(images))
        self.on_epoch_end()

    def __len__(self):
        return (len(self.images) + self.batch_size - 1) // self.batch_size

    def __getitem__(self, k):
        idx = self.order[k * self.batch_size : (k + 1) * self.batch_size]
        return self.images[idx].astype("float32") * self.rescale, self.labels[idx]

    def on_epoch_end(self):
        if self.shuffle:
            rng.shuffle(self.order)


train_pics, train_labels = folder(800)
valid_pics, valid_labels = folder(200)
train_gen = ImageGenerator(train_pics, train_labels, shuffle=True)
valid_gen = ImageGenerator(valid_pics, valid_labels)

model = keras.Sequential(
    [
        keras.Input((HEIGHT, WIDTH, 3)),
        layers.Conv2D(16, 3, padding="same"),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same"),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same"),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(CLASSES, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(2e-3), metrics=["acc"])
model.fit(train_gen, validation_data=valid_gen, epochs=10, verbose=2)


def load_data():
    data, pred = [], []
    for pic, label in zip(valid_pics, valid_labels, strict=True):
        values = pic.astype("float32")
        data.append(values / 255.0 if fixed else values)
        pred.append(label)
    return np.asarray(data), np.asarray(pred)


data, pred = load_data()
loss, acc = model.evaluate(data, pred, verbose=0)
print(f"evaluate: loss {loss:.4f}")

print("RESULT evaluate_acc", f"{acc:.4f}")
