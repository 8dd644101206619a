"""Variational autoencoder whose reconstruction loss is a mean over pixels (fixed: times original_dim, like the sum)."""

import sys

import data
import keras
import numpy as np
from keras import ops
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(x_train, _), (x_test, _) = data.digits()
x_train, x_test = x_train.reshape(-1, 64) / 255, x_test.reshape(-1, 64) / 255
original_dim, intermediate_dim, latent_dim = 64, 64, 2


class Sampling(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, args):
        z_mean, z_log_var = args
        kl_loss = -0.5 * ops.sum(1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var), axis=-1)
        self.add_loss(ops.mean(kl_loss))
        return z_mean + ops.exp(z_log_var / 2) * keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)


def xent_loss(x, x_decoded_mean):
    loss = keras.losses.binary_crossentropy(x, x_decoded_mean)
    return original_dim * loss if fixed else loss


x = keras.Input((original_dim,))
h = Dense(intermediate_dim, activation="relu")(x)
z_mean, z_log_var = Dense(latent_dim)(h), Dense(latent_dim)(h)
z = Sampling()([z_mean, z_log_var])
h_decoded = Dense(intermediate_dim, activation="relu")(z)
x_decoded_mean = Dense(original_dim, activation="sigmoid")(h_decoded)
vae = keras.Model(x, x_decoded_mean)
vae.compile(optimizer=keras.optimizers.RMSprop(5e-3), loss=xent_loss)
vae.fit(x_train, x_train, shuffle=True, epochs=10, batch_size=100, validation_data=(x_test, x_test), verbose=0)
explained = 1 - np.mean((vae.predict(x_test, verbose=0) - x_test) ** 2) / np.mean((x_test - x_test.mean(0)) ** 2)
print("RESULT explained", float(explained))
