"""Two stacked LSTM layers tell two kinds of long recordings with several channels apart.

With ReLU as their activation, states and gradients explode (fixed: tanh instead of ReLU in the LSTM layers).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

SAMPLES, STEPS, CHANNELS = 700, 100, 8
labels = rng.integers(0, 2, SAMPLES)
times = np.arange(STEPS)
recordings = np.zeros((SAMPLES, STEPS, CHANNELS), "float32")
for i in range(SAMPLES):
    frequency = rng.uniform(0.03, 0.05) if labels[i] == 0 else rng.uniform(0.07, 0.1)
    wave = np.sin(2 * np.pi * frequency * times + rng.uniform(0, 2 * np.pi))
    recordings[i] = (
        wave[:, None] * rng.uniform(0.6, 1.6, CHANNELS)
        + rng.normal(0, 0.8, (STEPS, CHANNELS))
        + rng.normal(0, 0.2, CHANNELS)
    )
x_train, y_train, x_val, y_val = recordings[:520], labels[:520], recordings[520:], labels[520:]

activation_name = "tanh" if fixed else "relu"
inputs = layers.Input((STEPS, CHANNELS))
x = layers.LSTM(32, activation=activation_name, return_sequences=True, recurrent_dropout=0.2)(inputs)
x = layers.LSTM(24, activation=activation_name, recurrent_dropout=0.2)(x)
outputs = layers.Dense(1, activation="sigmoid")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Nadam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=4, batch_size=32, verbose=2)
print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
