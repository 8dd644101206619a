"""A VGG-like network tells four kinds of motion in optical flow pictures, and then classifies the frames of a camera.

Training and testing use pictures divided by 255, but the frames go through preprocess_input of VGG16, which subtracts
the ImageNet means and swaps the colour channels (fixed: the frames are divided by 255 as well).
"""

import sys

import keras
import numpy as np
from keras import layers
from keras.applications.vgg16 import preprocess_input

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
SIZE = 32
# colour of the flow picture shows the direction: right, up, left, down
DIRECTIONS = np.array([[230, 90, 90], [110, 220, 90], [80, 210, 220], [150, 90, 230]])


def flow_picture(kind):
    img = np.full((SIZE, SIZE, 3), 245.0)
    cy, cx = rng.integers(8, SIZE - 8, 2)
    ry, rx = rng.uniform(4, 9, 2)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    body = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
    img[body] = DIRECTIONS[kind]
    other = rng.integers(0, 4)
    oy, ox = rng.integers(0, SIZE - 4, 2)
    img[oy : oy + 4, ox : ox + 4] = DIRECTIONS[other]
    img += rng.normal(0, 22, img.shape)
    return np.clip(img, 0, 255).astype("uint8")


def make(n):
    y = rng.integers(0, 4, n)
    return np.stack([flow_picture(k) for k in y]), y


train_x, train_y = make(800)
val_x, val_y = make(200)
camera, camera_y = make(300)


def batches(x, y, batch_size=32, shuffle=True):
    while True:
        order = rng.permutation(len(x)) if shuffle else np.arange(len(x))
        for i in range(0, len(x), batch_size):
            j = order[i : i + batch_size]
            yield x[j].astype("float32") / 255.0, keras.utils.to_categorical(y[j], 4)


model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 3)),
        layers.Conv2D(12, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Conv2D(24, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(48, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(
    batches(train_x, train_y),
    steps_per_epoch=25,
    epochs=6,
    validation_data=batches(val_x, val_y, shuffle=False),
    validation_steps=7,
    verbose=2,
)


def predict_frame(frame):
    image = frame.astype("float32").reshape((1, *frame.shape))
    image = image / 255.0 if FIXED else preprocess_input(image)
    return int(np.argmax(model.predict_on_batch(image)[0]))


found = np.array([predict_frame(f) for f in camera])
for k in range(4):
    print("class", k, f"correct {np.mean(found[camera_y == k] == k):.2f}", "answers", int(np.sum(found == k)))
print("RESULT accuracy", f"{float(np.mean(found == camera_y)):.4f}")
