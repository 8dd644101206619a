"""Convolutional denoising autoencoder on the 8x8 digits with Gaussian noise."""

import numpy as np
from sklearn.datasets import load_digits
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(23)
rng = np.random.default_rng(23)
x = (load_digits().images / 16.0).astype("float32")[..., None]
rng.shuffle(x)
noisy = (x + rng.normal(0, 0.35, x.shape)).astype("float32")
tr, te = slice(0, 1450), slice(1450, None)

enc = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(24, name="code"),
    ],
    name="encoder",
)
dec = keras.Sequential(
    [
        keras.Input((24,)),
        layers.Dense(4 * 4 * 32, activation="relu"),
        layers.Reshape((4, 4, 32)),
        layers.Conv2DTranspose(24, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
    ],
    name="decoder",
)
inp = keras.Input((8, 8, 1))
ae = keras.Model(inp, dec(enc(inp)))
ae.compile(keras.optimizers.Adam(2e-3), loss="mse")
ae.fit(noisy[tr], x[tr], validation_data=(noisy[te], x[te]), batch_size=64, epochs=25, verbose=2)
out = ae.predict(noisy[te], verbose=0)
before = np.mean((noisy[te] - x[te]) ** 2)
after = np.mean((out - x[te]) ** 2)
print("mse before %.4f after %.4f" % (before, after))
print("RESULT psnr_gain_db %.4f" % (10 * np.log10(before / after)))
