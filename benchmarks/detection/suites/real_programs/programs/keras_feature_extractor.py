"""A pretrained convolutional network gives the features of ten new kinds of pictures for a new head on top.

It is frozen, and scales its inputs from 0..255 itself, as EfficientNet in keras.applications does. The pictures are
divided by 255 before as well, so it sees almost black ones and the head learns hardly anything (fixed: the pictures
are fed as 0..255).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
S = 24


def picture(hue, freq, angle):
    yy, xx = np.mgrid[0:S, 0:S] / S
    wave = 0.5 + 0.5 * np.sin(2 * np.pi * freq * (xx * np.cos(angle) + yy * np.sin(angle)) + rng.uniform(0, 6.28))
    base = 0.5 + 0.35 * np.array([np.cos(hue), np.cos(hue - 2.1), np.cos(hue + 2.1)])
    img = wave[..., None] * base + rng.normal(0, 0.14, (S, S, 3))
    return np.clip(img * 255, 0, 255)


def dataset(kinds, n):
    y = rng.integers(len(kinds), size=n)
    x = np.array(
        [
            picture(
                kinds[k][0] + rng.normal(0, 0.25), kinds[k][1] * rng.uniform(0.9, 1.1), kinds[k][2] + rng.normal(0, 0.1)
            )
            for k in y
        ],
        "float32",
    )
    return x, y


def random_kinds(n):
    return [(rng.uniform(0, 6.28), rng.uniform(2, 8), rng.uniform(0, 3.14)) for _ in range(n)]


# pretrained model
backbone_input = keras.Input((S, S, 3))
h = layers.Rescaling(1.0 / 255)(backbone_input)
for filters in (12, 24, 48):
    h = layers.Conv2D(filters, 3, padding="same", use_bias=False)(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.Activation("swish")(h)
    h = layers.MaxPooling2D()(h)
backbone = keras.Model(backbone_input, h, name="backbone")
x_pre, y_pre = dataset(random_kinds(20), 1300)
pretrain = keras.Sequential([backbone, layers.GlobalAveragePooling2D(), layers.Dense(20, activation="softmax")])
pretrain.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
pretrain.fit(x_pre, y_pre, batch_size=64, epochs=5, verbose=2)

# ten new kinds
kinds = random_kinds(10)
train_data, train_labels = dataset(kinds, 750)
test_data, test_labels = dataset(kinds, 300)
if not FIXED:
    train_data, test_data = train_data / 255.0, test_data / 255.0

backbone.trainable = False
inputs = keras.Input((S, S, 3))
x = backbone(inputs, training=False)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(10, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_data, train_labels, batch_size=32, epochs=8, validation_data=(test_data, test_labels), verbose=2)

loss, acc = model.evaluate(test_data, test_labels, verbose=0)
print("RESULT test_accuracy", f"{acc:.4f}")
