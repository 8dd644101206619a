"""A convolutional autoencoder rebuilds pictures of digits.

Their mean is taken away and they are divided by their deviation. The last layer has a ReLU, so all that is darker
than the mean is cut off (fixed: the pictures stay between 0 and 1).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(10)

images = load_digits().images[..., None].astype("float32") / 16
x_train, x_test = train_test_split(images, test_size=0.2, random_state=10)
if not FIXED:
    mu, sigma = x_train.mean(), x_train.std()
    x_train = (x_train - mu) / sigma
    x_test = (x_test - mu) / sigma

model = keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(24),
        layers.Dense(64, activation="relu"),
        layers.Dense(16 * 16, activation="relu"),
        layers.Reshape((4, 4, 16)),
        layers.UpSampling2D(),
        layers.Conv2D(16, 3, activation="relu", padding="same"),
        layers.Conv2D(1, 3, activation="relu", padding="same"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="mse")
model.fit(x_train, x_train, batch_size=32, epochs=20, validation_data=(x_test, x_test), verbose=2)

rebuilt = model.predict(x_test, verbose=0)
print("pictures from", x_test.min(), "to", x_test.max(), "rebuilt from", rebuilt.min(), "to", rebuilt.max())
explained = 1 - np.mean((rebuilt - x_test) ** 2) / np.var(x_test)
print("RESULT explained_variance", f"{explained:.4f}")
