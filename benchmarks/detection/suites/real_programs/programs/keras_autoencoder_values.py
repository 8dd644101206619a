"""An autoencoder of values between 1 and 4 ends in a sigmoid (fixed: no activation)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

# six readings per row, between 1 and 4, driven by two hidden quantities
n = 1500
t = np.random.uniform(0, 1, size=(n, 2))
mix = np.random.uniform(0, 1, size=(2, 6))
mix /= mix.sum(axis=0)
x = 1 + 3 * (t @ mix) + np.random.normal(0, 0.02, size=(n, 6))
x = x.astype("float32")
x_train, x_test = x[:1200], x[1200:]

inputs = keras.Input(shape=(6,))
encoded = Dense(4, activation="relu")(inputs)
decoded = Dense(6, activation="linear" if fixed else "sigmoid")(encoded)
autoencoder = keras.Model(inputs, decoded)
autoencoder.compile(optimizer=keras.optimizers.Adam(learning_rate=0.01), loss="mse")

history = autoencoder.fit(x_train, x_train, epochs=30, batch_size=32, verbose=2, validation_data=(x_test, x_test))

print(x_test[:3])
print(autoencoder.predict(x_test[:3], verbose=0))

print("RESULT val_mse", history.history["val_loss"][-1])
