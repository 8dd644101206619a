"""An autoencoder whose code is as wide as its input only has to hand random numbers through.

Its layers are ReLU, and it ends in a sigmoid with binary cross entropy, which is not 0 for the right values (fixed: no
activations, and mean squared error).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

x_rand = np.random.rand(4000, 40).astype("float32")
x_val = np.random.rand(1000, 40).astype("float32")
encoding_dim = 40

hidden = None if fixed else "relu"
last = None if fixed else "sigmoid"
loss = "mse" if fixed else "binary_crossentropy"

inputs = Input(shape=x_rand.shape[1:])
encoded = Dense(40, activation=hidden)(inputs)
encoded = Dense(40, activation=hidden)(encoded)
encoded = Dense(encoding_dim, activation=hidden)(encoded)
decoded = Dense(40, activation=hidden)(encoded)
decoded = Dense(40, activation=hidden)(decoded)
decoded = Dense(x_rand.shape[-1], activation=last)(decoded)

autoencoder = Model(inputs, decoded)
autoencoder.compile(optimizer=keras.optimizers.Adam(0.002), loss=loss)
history = autoencoder.fit(x_rand, x_rand, epochs=50, batch_size=32, verbose=0, validation_data=(x_val, x_val))
for e in (0, 9, 29, 49):
    print("epoch", e + 1, "loss", history.history["loss"][e], "val", history.history["val_loss"][e])

rec = autoencoder.predict(x_val, verbose=0)
print("RESULT mse", round(float(np.mean((rec - x_val) ** 2)), 6))
