"""Mean and log variance of a variational autoencoder of digits end in a ReLU, so no log variance can be negative.

Its units give zero for every digit (fixed: no activation on the two).
"""

import sys

import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)

X = (load_digits().images / 16.0).astype("float32")[..., None]
rng = np.random.RandomState(0)
X = X[rng.permutation(len(X))]
x_tr, x_te = X[:1500], X[1500:]


class Sampling(layers.Layer):
    def __init__(self, kl_weight=1e-4):
        super().__init__()
        self.kl_weight = kl_weight
        self.seed_generator = keras.random.SeedGenerator(11)

    def call(self, inputs):
        mu, log_var = inputs
        kl = 1 + log_var - ops.square(mu) - ops.exp(log_var)
        self.add_loss(-0.5 * self.kl_weight * ops.mean(ops.sum(kl, axis=-1)))
        eps = keras.random.normal(ops.shape(mu), seed=self.seed_generator)
        return mu + ops.exp(0.5 * log_var) * eps


head = None if fixed else "relu"
inp = keras.Input((8, 8, 1))
h = layers.Flatten()(inp)
h = layers.Dense(50, activation="relu")(h)
mean = layers.Dense(10, activation=head, name="mean")(h)
log_var = layers.Dense(10, activation=head, name="log_var")(h)
z = Sampling(kl_weight=1e-3)([mean, log_var])
h = layers.Dense(50, activation="relu")(z)
out = layers.Reshape((8, 8, 1))(layers.Dense(64, activation="sigmoid")(h))
vae = keras.Model(inp, out)
vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse", metrics=["mse"])
vae.fit(x_tr, x_tr, validation_data=(x_te, x_te), epochs=80, batch_size=32, verbose=2)

lv = keras.Model(inp, log_var).predict(x_te, verbose=0)
print(f"log variance: mean {lv.mean():.3f}, share of zeros {np.mean(lv == 0):.3f}")
rec = vae.predict(x_te, verbose=0)
print("RESULT reconstruction_mse", f"{np.mean((rec - x_te) ** 2):.5f}")
