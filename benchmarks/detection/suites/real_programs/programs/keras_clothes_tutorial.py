"""A misspelt name leaves images for training at 0 to 255, those for tests are divided by 255 (fixed: all are)."""

import sys

import numpy as np
from tensorflow import keras

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

image_category = [
    "tshirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
]
yy, xx = np.mgrid[:28, :28]


def draw(kind):
    w, top = rng.uniform(4, 6), rng.integers(3, 7)
    x = np.abs(xx - rng.uniform(11, 17))
    body = (x < w) & (yy > top) & (yy < 24)
    sleeve = (x < w + 5) & (x > w + 1) & (yy > top)
    sole = (yy > 20) & (yy < 25) & (xx > 2) & (xx < 26)
    if kind == 0:
        shape = body | ((x < w + 5) & (yy > top) & (yy < top + 6))
    elif kind == 1:
        shape = (x < w) & (x > 1.5) & (yy > top) & (yy < 26)
    elif kind == 2:
        shape = body | (sleeve & (yy < 22))
    elif kind == 3:
        shape = (x < 2 + (yy - top) / 4) & (yy > top) & (yy < 26)
    elif kind == 4:
        shape = (body & (x > 1)) | (sleeve & (yy < 24))
    elif kind == 5:
        shape = sole | ((yy > 12) & (yy < 21) & (xx % 6 < 2) & (xx > 4))
    elif kind == 6:
        shape = (body & (yy % 5 < 3)) | (sleeve & (yy < 18))
    elif kind == 7:
        shape = sole | ((yy > 15) & (yy < 21) & (xx > 2) & (xx < 18))
    elif kind == 8:
        shape = ((x < 10) & (yy > 13) & (yy < 25)) | ((np.abs(x - 5) < 1.5) & (yy > 6) & (yy < 15))
    else:
        shape = sole | ((yy > 5) & (yy < 21) & (xx > 2) & (xx < 13))
    image = rng.integers(0, 190, (28, 28))
    image[shape] = np.clip(rng.normal(rng.uniform(130, 200), 55, shape.sum()), 0, 255)
    return image


def load_data(n):
    labels = rng.integers(0, len(image_category), n)
    return np.stack([draw(k) for k in labels]).astype("uint8"), labels.astype("uint8")


(train_images, train_labels), (test_images, test_labels) = load_data(12000), load_data(500)

# scale all the images
trian_images = train_images / 255.0
test_images = test_images / 255.0
if fixed:
    train_images = trian_images

model = keras.Sequential(
    [
        keras.layers.Input((28, 28)),
        keras.layers.Flatten(),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(len(image_category), activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_images, train_labels, epochs=14, verbose=2)

test_loss, test_acc = model.evaluate(test_images, test_labels, verbose=0)
print("Test loss:", test_loss)
print("Test accuracy:", test_acc)

print("RESULT test_acc", test_acc)
