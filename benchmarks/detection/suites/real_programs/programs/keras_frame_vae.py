"""A VAE of game frames averages its errors over pixels, so the KL term rules (fixed: sums, a tolerance for the KL)."""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.RandomState(0)
SIDE, Z_DIM, KL_TOLERANCE = 24, 16, 0.5


def frames(n):
    out = np.zeros((n, SIDE, SIDE, 3), dtype="float32")
    yy, xx = np.mgrid[0:SIDE, 0:SIDE]
    for i in range(n):
        out[i] = [0.4, 0.8, 0.4]  # grass
        middle = rng.uniform(8, 16) + rng.uniform(-0.5, 0.5) * (yy - 20) + rng.uniform(-0.02, 0.02) * (yy - 20) ** 2
        out[i][abs(xx - middle) < 4] = [0.4, 0.4, 0.4]  # road
        car = rng.uniform(-2, 2) + middle[19, 0]
        out[i][(abs(xx - car) < 1.5) & (abs(yy - 19) < 2.5)] = [0.8, 0.0, 0.0]
    return out


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, inputs):
        mu, log_var = inputs
        return mu + ops.exp(log_var / 2) * keras.random.normal(ops.shape(mu), seed=self.seed_generator)


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential(
            [
                layers.Conv2D(16, 4, strides=2, activation="relu", padding="same"),
                layers.Conv2D(32, 4, strides=2, activation="relu", padding="same"),
                layers.Flatten(),
                layers.Dense(64, activation="relu"),
            ]
        )
        self.mu, self.log_var = layers.Dense(Z_DIM), layers.Dense(Z_DIM)
        self.sample = Sampling()
        self.decoder = keras.Sequential(
            [
                layers.Dense(6 * 6 * 32, activation="relu"),
                layers.Reshape((6, 6, 32)),
                layers.Conv2DTranspose(16, 4, strides=2, activation="relu", padding="same"),
                layers.Conv2DTranspose(3, 4, strides=2, activation="sigmoid", padding="same"),
            ]
        )
        self.r_metric = keras.metrics.Mean(name="vae_r_loss")
        self.kl_metric = keras.metrics.Mean(name="vae_kl_loss")

    def call(self, x):
        h = self.body(x)
        mu, log_var = self.mu(h), self.log_var(h)
        y = self.decoder(self.sample([mu, log_var]))
        if fixed:
            r_loss = ops.sum(ops.square(x - y), axis=[1, 2, 3])
            kl = -0.5 * ops.sum(1 + log_var - ops.square(mu) - ops.exp(log_var), axis=-1)
            kl_loss = ops.maximum(kl, KL_TOLERANCE * Z_DIM)
        else:
            r_loss = ops.mean(ops.square(x - y), axis=[1, 2, 3])
            kl_loss = -0.5 * ops.mean(1 + log_var - ops.square(mu) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(r_loss + kl_loss))
        self.r_metric.update_state(r_loss)
        self.kl_metric.update_state(kl_loss)
        return y


train, val = frames(800), frames(200)
vae = VAE()
vae.compile(optimizer=keras.optimizers.RMSprop(1e-3))
vae.fit(train, epochs=20, batch_size=32, shuffle=True, validation_data=(val, None), verbose=2)
err = float(np.mean((vae.predict(val, verbose=0) - val) ** 2))
print(f"variance of the frames {np.mean((val - train.mean(axis=0)) ** 2):.4f}")

print("RESULT reconstruction_mse", f"{err:.5f}")
