"""Pictures of arrows to the left or right are mirrored at random in training (fixed: turned upside down)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# road signs: 20x20 pictures of an arrow head that points to the left (0) or to the right (1)
SIZE = 20
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def sign(label):
    cy, cx = rng.uniform(8, 12, 2)
    half = rng.uniform(4, 6)
    dy = np.abs(yy - cy)
    tip = cx + (half / 2 if label else -half / 2)
    edge = tip - dy if label else tip + dy
    arrow = (np.abs(xx - edge) < 1.1) & (dy < half)
    image = arrow * rng.uniform(0.7, 1.0) + rng.normal(0, 0.15, (SIZE, SIZE))
    return image[..., None]


def dataset(n):
    labels = rng.integers(0, 2, n)
    return np.stack([sign(k) for k in labels]).astype("float32"), labels


x_train, y_train = dataset(1000)
x_val, y_val = dataset(300)

model = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.RandomFlip("vertical" if fixed else "horizontal", seed=0),
        layers.Conv2D(8, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=10, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
