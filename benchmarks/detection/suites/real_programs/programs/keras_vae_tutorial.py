"""The variational autoencoder of the Keras tutorial learns small pictures of digits.

Its reconstruction loss is a mean over pixels, so the divergence wins (fixed: reconstruction loss times number of
pixels).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)
images = (load_digits().images / 16.0).astype("float32")[..., None]
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
x_train, x_test = images[order[:1500]], images[order[1500:]]
latent_dim = 4


class Sampling(layers.Layer):
    def call(self, inputs):
        z_mean, z_log_var = inputs
        return z_mean + tf.exp(0.5 * z_log_var) * tf.random.normal(tf.shape(z_mean))


picture = keras.Input((8, 8, 1))
x = layers.Conv2D(16, 3, activation="relu", strides=2, padding="same")(picture)
x = layers.Flatten()(x)
x = layers.Dense(32, activation="relu")(x)
z_mean = layers.Dense(latent_dim, name="z_mean")(x)
z_log_var = layers.Dense(latent_dim, name="z_log_var")(x)
z = Sampling()([z_mean, z_log_var])
encoder = keras.Model(picture, [z_mean, z_log_var, z])

latent = keras.Input((latent_dim,))
x = layers.Dense(4 * 4 * 16, activation="relu")(latent)
x = layers.Reshape((4, 4, 16))(x)
x = layers.Conv2DTranspose(16, 3, activation="relu", strides=2, padding="same")(x)
decoder = keras.Model(latent, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x))


class VAE(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def call(self, data):
        return self.decoder(self.encoder(data)[0])

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(data, training=True)
            reconstruction = self.decoder(z, training=True)
            reconstruction_loss = tf.reduce_mean(keras.losses.binary_crossentropy(data, reconstruction))
            if fixed:
                reconstruction_loss *= 8 * 8
            kl_loss = 1 + z_log_var - tf.square(z_mean) - tf.exp(z_log_var)
            kl_loss = tf.reduce_mean(tf.reduce_sum(kl_loss, axis=1)) * -0.5
            total_loss = reconstruction_loss + kl_loss
        grads = tape.gradient(total_loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights, strict=True))
        return {"loss": total_loss, "reconstruction_loss": reconstruction_loss, "kl_loss": kl_loss}


vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(x_train, epochs=40, batch_size=64, verbose=2)
rebuilt = vae.predict(x_test, verbose=0)
r2 = 1 - ((rebuilt - x_test) ** 2).sum() / ((x_test - x_train.mean(0)) ** 2).sum()
print("RESULT reconstruction_r2", f"{r2:.4f}")
