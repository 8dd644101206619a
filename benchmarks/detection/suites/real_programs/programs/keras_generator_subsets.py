"""A CNN tells five signs apart; its pictures are read class by class and split by an image generator.

The generator cuts the validation data off the start of the arrays, which are sorted by class: the validation data has
circles only, and the training data has none of them (fixed: the arrays are shuffled before the split).
"""

import sys

import keras
import numpy as np
from keras import layers
from keras.src.legacy.preprocessing.image import ImageDataGenerator

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
SIZE = 24
CLASSES = ["circle", "square", "cross", "bars", "triangle"]


def picture(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype("float32")
    cy, cx, r = rng.uniform(10, 14), rng.uniform(10, 14), rng.uniform(5, 8)
    dy, dx = yy - cy, xx - cx
    if kind == "circle":
        shape = dy**2 + dx**2 < r**2
    elif kind == "square":
        shape = np.maximum(abs(dy), abs(dx)) < 0.85 * r
    elif kind == "cross":
        shape = (np.minimum(abs(dy), abs(dx)) < 0.3 * r) & (np.maximum(abs(dy), abs(dx)) < r)
    elif kind == "bars":
        shape = (np.maximum(abs(dy), abs(dx)) < r) & (np.sin(dx * 1.3 + rng.uniform(0, 6)) > 0)
    else:
        shape = (dy < 0.8 * r) & (abs(dx) < (dy + r) * 0.55)
    img = rng.uniform(40, 110) + shape * rng.uniform(70, 130) + rng.normal(0, 22, (SIZE, SIZE))
    return np.clip(img, 0, 255)[..., None]


def read_folder(count):
    images, targets = [], []
    for number, name in enumerate(CLASSES):
        for _ in range(count):
            images.append(picture(name))
            targets.append(number)
    return np.array(images, "float32"), keras.utils.to_categorical(targets, len(CLASSES))


x, y = read_folder(280)
x_test, y_test = read_folder(60)

if FIXED:
    order = rng.permutation(len(x))
    x, y = x[order], y[order]

datagen = ImageDataGenerator(rescale=1.0 / 255, validation_split=0.2, horizontal_flip=True)
train = datagen.flow(x, y, batch_size=32, subset="training", seed=1)
valid = datagen.flow(x, y, batch_size=32, subset="validation", seed=1)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Conv2D(12, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(24, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(48, activation="relu"),
        layers.Dense(len(CLASSES), activation="softmax"),
    ]
)
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=valid, epochs=10, verbose=2)
loss, accuracy = model.evaluate(x_test / 255.0, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
