"""``validation_split`` takes the end of sorted data, a class that training lacks (fixed: shuffled before)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_wine

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

wine = load_wine()
x = wine.data.astype("float32")
y = keras.utils.to_categorical(wine.target, 3)
if fixed:
    order = np.random.permutation(len(x))
    x, y = x[order], y[order]

model = keras.Sequential(
    [
        keras.Input(shape=(13,)),
        layers.BatchNormalization(momentum=0.8),
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, validation_split=0.3, epochs=15, batch_size=16, shuffle=True, verbose=0)

print("RESULT val_acc", history.history["val_accuracy"][-1])
