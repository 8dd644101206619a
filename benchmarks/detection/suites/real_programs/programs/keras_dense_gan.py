"""The discriminator of a dense GAN for digits is set untrainable for the combined model, and never set back.

Its own steps then change nothing (fixed: ``trainable`` is switched on around them).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(10)

X = ((load_digits().data - 8.0) / 8.0).astype("float32")
latent = 32

generator = keras.Sequential(
    [
        keras.Input((latent,)),
        layers.Dense(64),
        layers.LeakyReLU(negative_slope=0.2),
        layers.BatchNormalization(momentum=0.8),
        layers.Dense(128),
        layers.LeakyReLU(negative_slope=0.2),
        layers.BatchNormalization(momentum=0.8),
        layers.Dense(64, activation="tanh"),
    ]
)
discriminator = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(128),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(64),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(1, activation="sigmoid"),
    ]
)
discriminator.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.0005, 0.5))

discriminator.trainable = False
z = keras.Input((latent,))
combined = keras.Model(z, discriminator(generator(z)))
combined.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.0005, 0.5))

batch = 64
valid = np.ones((batch, 1), "float32")
fake = np.zeros((batch, 1), "float32")
rng = np.random.RandomState(3)
for it in range(1500):
    real = X[rng.randint(0, len(X), batch)]
    gen = generator.predict_on_batch(rng.normal(0, 1, (batch, latent)).astype("float32"))
    if fixed:
        discriminator.trainable = True
    d_real = discriminator.train_on_batch(real, valid)
    d_fake = discriminator.train_on_batch(gen, fake)
    if fixed:
        discriminator.trainable = False
    g = combined.train_on_batch(rng.normal(0, 1, (batch, latent)).astype("float32"), valid)
    if it % 250 == 0:
        print(f"{it} [D loss: {0.5 * (float(d_real) + float(d_fake)):.4f}] [G loss: {float(g):.4f}]")


def energy_distance(a, b):
    def d(u, v):
        return np.sqrt(np.maximum(((u[:, None] - v[None]) ** 2).sum(-1), 0)).mean()

    return 2 * d(a, b) - d(a, a) - d(b, b)


sample = generator.predict_on_batch(rng.normal(0, 1, (600, latent)).astype("float32"))
print("RESULT energy_distance", f"{energy_distance(sample, X[:600]):.4f}")
