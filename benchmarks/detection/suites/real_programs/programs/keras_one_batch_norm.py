"""A CNN with batch normalisation is trained on one batch of 128 digits and evaluated on the same batch.

The moving averages have a momentum of 0.99 and are still far from the statistics of the batch after 60 updates
(fixed: a momentum of 0.8).
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten, MaxPooling2D
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(4)
momentum = 0.8 if fixed else 0.99

digits = load_digits()
x = np.repeat(np.repeat(digits.images[:128], 2, axis=1), 2, axis=2)[..., None].astype("float32") / 16
y = digits.target[:128]

model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        Conv2D(16, 3, padding="same"),
        BatchNormalization(momentum=momentum),
        Activation("relu"),
        MaxPooling2D(),
        Conv2D(32, 3, padding="same"),
        BatchNormalization(momentum=momentum),
        Activation("relu"),
        MaxPooling2D(),
        Conv2D(32, 3, padding="same"),
        BatchNormalization(momentum=momentum),
        Activation("relu"),
        Flatten(),
        Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=60, batch_size=128, validation_data=(x, y), verbose=2)

print("RESULT val_loss", f"{model.evaluate(x, y, batch_size=128, verbose=0)[0]:.4f}")
