"""Pictures of three kinds are classified by one sigmoid with binary cross-entropy (fixed: a softmax of three)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)


def make_image(kind):
    img = rng.integers(0, 90, (32, 32, 3))
    colour = rng.integers(120, 256, 3)
    r, c = rng.integers(4, 14, 2)
    size = rng.integers(10, 15)
    if kind == 0:  # filled square
        img[r : r + size, c : c + size] = colour
    elif kind == 1:  # frame
        img[r : r + size, c : c + size] = colour
        img[r + 2 : r + size - 2, c + 2 : c + size - 2] = rng.integers(0, 90, (size - 4, size - 4, 3))
    else:  # diagonal cross
        for i in range(size):
            img[r + i, c + i : c + i + 2] = colour
            img[r + i, c + size - 1 - i : c + size + 1 - i] = colour
    return img


labels = rng.integers(0, 3, 1500)
images = np.stack([make_image(k) for k in labels]).astype("float32") / 255
targets = keras.utils.to_categorical(labels, 3) if fixed else labels.astype("float32")
x_train, y_train = images[:1200], targets[:1200]
x_val, y_val = images[1200:], targets[1200:]

model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        layers.Conv2D(8, (3, 3)),
        layers.Activation("relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Conv2D(8, (3, 3)),
        layers.Activation("relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Conv2D(16, (3, 3)),
        layers.Activation("relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Flatten(),
        layers.Dense(64),
        layers.Activation("relu"),
        layers.Dropout(0.5),
        layers.Dense(3 if fixed else 1),
        layers.Activation("softmax" if fixed else "sigmoid"),
    ]
)
loss = "categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(loss=loss, optimizer="rmsprop", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=15, validation_data=(x_val, y_val), verbose=2)

loss, acc = model.evaluate(x_val, y_val, verbose=0)
print(f"validation loss {loss:.4f} accuracy {acc:.4f}")

print("RESULT val_acc", acc)
