"""A small classifier of irises keeps the last third of the table for validation.

The table is in the order of the species, so the third species is in the validation data only and its accuracy stays
at 0 (fixed: the rows are shuffled before the split).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
if FIXED:
    order = np.random.default_rng(9).permutation(len(X))
    X, y = X[order], y[order]
Y = keras.utils.to_categorical(y, 3)

model = keras.Sequential(
    [
        keras.Input((4,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(X, Y, batch_size=16, epochs=40, validation_split=1 / 3, verbose=2)
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
