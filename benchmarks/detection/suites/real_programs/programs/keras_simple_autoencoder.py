"""An autoencoder's Adadelta has its default rate of 0.001, with which weights hardly move (fixed: 1.0)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from keras.models import Model
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(39432)
tf.config.experimental.enable_op_determinism()

x = load_digits().data.astype("float32") / 16.0
x = x[np.random.default_rng(1).permutation(len(x))]
x_train, x_test = x[:1400], x[1400:]

input_img = Input(shape=(64,))
encoded = Dense(24, activation="relu")(input_img)
decoded = Dense(64, activation="sigmoid")(encoded)
autoencoder = Model(input_img, decoded)

optimizer = keras.optimizers.Adadelta(learning_rate=1.0) if fixed else "adadelta"
autoencoder.compile(optimizer=optimizer, loss="binary_crossentropy")
h = autoencoder.fit(
    x_train, x_train, epochs=60, batch_size=32, shuffle=True, validation_data=(x_test, x_test), verbose=0
)
print("val_loss", [f"{v:.4f}" for v in h.history["val_loss"][::10]])

error = np.mean((autoencoder.predict(x_test, verbose=0) - x_test) ** 2)
print("error of the mean picture", np.mean((x_train.mean(0) - x_test) ** 2))

print("RESULT test_reconstruction_mse", f"{error:.5f}")
