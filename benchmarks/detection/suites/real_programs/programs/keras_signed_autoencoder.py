"""A convolutional autoencoder for digits is trained with binary cross-entropy.

Pixels lie between -1 and 1, which a sigmoid and this loss do not suit (fixed: pixels between 0 and 1).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(14)
pictures = load_digits().images
pictures = np.kron(pictures, np.ones((2, 2))) * 255 / 16.0  # 16 x 16, 0..255
pictures = np.clip(pictures + np.random.default_rng(0).normal(0, 8, pictures.shape), 0, 255)
order = np.random.default_rng(1).permutation(len(pictures))
x_train, x_test = pictures[order[:1400]], pictures[order[1400:]]
if fixed:
    x_train = x_train.astype(np.float32) / 255
    x_test = x_test.astype(np.float32) / 255
else:
    x_train = (x_train.astype(np.float32) - 127.5) / 127.5
    x_test = (x_test.astype(np.float32) - 127.5) / 127.5
x_train, x_test = x_train[..., None], x_test[..., None]


def encoder_model():
    return keras.Sequential(
        [
            layers.Input((16, 16, 1)),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(20),
        ]
    )


def generator_model():
    return keras.Sequential(
        [
            layers.Input((20,)),
            layers.Dense(4 * 4 * 16, activation="relu"),
            layers.Reshape((4, 4, 16)),
            layers.UpSampling2D(),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.UpSampling2D(),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ]
    )


inputs = layers.Input((16, 16, 1))
autoencoder = keras.Model(inputs, generator_model()(encoder_model()(inputs)))
autoencoder.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(2e-3))
autoencoder.fit(x_train, x_train, batch_size=64, epochs=15, validation_data=(x_test, x_test), verbose=2)
rebuilt = autoencoder.predict(x_test, verbose=0)
r2 = 1 - ((rebuilt - x_test) ** 2).sum() / ((x_test - x_train.mean(0)) ** 2).sum()
print("RESULT reconstruction_r2", f"{r2:.4f}")
