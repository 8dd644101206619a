"""Variational autoencoder on 8x8 digits, written as a keras.Model with its own train_step."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(2024)
LATENT = 6


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


enc_in = keras.Input((8, 8, 1))
x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(enc_in)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
x = layers.Flatten()(x)
x = layers.Dense(64, activation="relu")(x)
z_mean = layers.Dense(LATENT, name="z_mean")(x)
z_log_var = layers.Dense(LATENT, name="z_log_var")(x)
encoder = keras.Model(enc_in, [z_mean, z_log_var, Sampling()([z_mean, z_log_var])])

dec_in = keras.Input((LATENT,))
x = layers.Dense(4 * 4 * 32, activation="relu")(dec_in)
x = layers.Reshape((4, 4, 32))(x)
x = layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu")(x)
dec_out = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)
decoder = keras.Model(dec_in, dec_out)


class VAE(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="loss")
        self.rec = keras.metrics.Mean(name="reconstruction_loss")
        self.kl = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.total, self.rec, self.kl]

    def _elbo_terms(self, x):
        mean, log_var, z = self.encoder(x)
        xr = self.decoder(z)
        rec = ops.mean(ops.sum(keras.losses.binary_crossentropy(x, xr), axis=(1, 2)))
        kl = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
        return rec + kl, rec, kl

    def _track(self, vals):
        for m, v in zip(self.metrics, vals):
            m.update_state(v)
        return {m.name: m.result() for m in self.metrics}

    def train_step(self, x):
        with tf.GradientTape() as tape:
            vals = self._elbo_terms(x)
        grads = tape.gradient(vals[0], self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        return self._track(vals)

    def test_step(self, x):
        return self._track(self._elbo_terms(x))


images = (load_digits().images / 16.0).astype("float32")[..., None]
x_train, x_test = train_test_split(images, test_size=0.2, random_state=0)
vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam(3e-3))
vae.fit(x_train, epochs=30, batch_size=64, validation_data=(x_test, None), verbose=2)

rec = decoder.predict(encoder.predict(x_test, verbose=0)[0], verbose=0)
print("trivial mse", float(np.mean((x_test - x_train.mean(0)) ** 2)))
print(f"RESULT mse {float(np.mean((x_test - rec) ** 2)):.5f}")
