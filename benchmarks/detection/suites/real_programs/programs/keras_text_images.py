"""A network of convolutions and a recurrent layer reads three characters from a picture, in batches of a generator.

Pixels are divided by 255 and stored in a batch array of integers, so nearly every pixel becomes 0
(fixed: a batch array of floats).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(12)
rng = np.random.RandomState(12)

digits = load_digits()
glyphs = (digits.images * 15).astype(np.uint8)
LETTERS, HEIGHT, WIDTH = 3, 8, 24


def write(numbers):
    return np.concatenate([glyphs[i] for i in numbers], axis=1)


def draw(n, low, high):
    numbers = rng.randint(low, high, (n, LETTERS))
    return [write(row) for row in numbers], digits.target[numbers]


train_images, train_texts = draw(3000, 0, 1400)
val_images, val_texts = draw(400, 1400, 1797)


def make_batch(images):
    if FIXED:
        batch = np.zeros((len(images), HEIGHT, WIDTH, 1), dtype=np.float32)
    else:
        batch = np.zeros((len(images), HEIGHT, WIDTH, 1), dtype=np.uint8)
    for i, image in enumerate(images):
        batch[i, :, :, 0] = image / 255
    return batch


def batches(images, texts, size):
    while True:
        chosen = rng.randint(0, len(images), size)
        yield make_batch([images[i] for i in chosen]), texts[chosen]


model = keras.Sequential(
    [
        keras.Input((HEIGHT, WIDTH, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Permute((2, 1, 3)),
        layers.Reshape((LETTERS, WIDTH // 2 // LETTERS * HEIGHT // 2 * 16)),
        layers.GRU(32, return_sequences=True),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    batches(train_images, train_texts, 32),
    steps_per_epoch=60,
    epochs=5,
    verbose=2,
    validation_data=(make_batch(val_images), val_texts),
)
loss, acc = model.evaluate(make_batch(val_images), val_texts, verbose=0)
print("RESULT val_accuracy", f"{acc:.4f}")
