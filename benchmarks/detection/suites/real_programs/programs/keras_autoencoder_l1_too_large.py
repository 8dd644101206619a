"""An autoencoder of digits has an L1 penalty of 0.1 on its code (fixed: 0.00001)."""

import sys

import keras
import numpy as np
from keras import layers, regularizers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x = (load_digits().data / 16.0).astype("float32")
x_train, x_val = train_test_split(x, test_size=0.2, random_state=0)

inputs = keras.Input((64,))
code = layers.Dense(32, activation="relu", activity_regularizer=regularizers.l1(1e-5 if fixed else 0.1))(inputs)
outputs = layers.Dense(64, activation="sigmoid")(code)
autoencoder = keras.Model(inputs, outputs)
autoencoder.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
autoencoder.fit(x_train, x_train, validation_data=(x_val, x_val), batch_size=64, epochs=30, verbose=2)

rebuilt = autoencoder.predict(x_val, verbose=0)
explained = 1 - np.sum((rebuilt - x_val) ** 2) / np.sum((x_val - x_train.mean(axis=0)) ** 2)
print("RESULT val_explained_variance", explained)
