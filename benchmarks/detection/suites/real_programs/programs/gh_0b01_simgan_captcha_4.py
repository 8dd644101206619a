"""A discriminator is pre-trained after trainable = False (fixed: set only before the combined model is compiled)."""

import sys

import data
import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
(images, _), _ = data.digits()
synthetic = images[:700, ..., None] / 255
real = np.clip(images[700:, ..., None] / 255 * 0.7 + 0.15 + 0.1 * rng.normal(size=(700, 8, 8, 1)), 0, 1)


def refiner_network(inputs):
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(1, 1, padding="same", activation="tanh")(x)


def discriminator_network(inputs):
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(2, 1, padding="same")(x)
    return layers.Reshape((-1, 2))(x)


def local_adversarial_loss(y_true, y_pred):
    return keras.losses.categorical_crossentropy(y_true, y_pred, from_logits=True)


def self_regularization_loss(y_true, y_pred):
    return keras.ops.mean(keras.ops.abs(y_pred - y_true), axis=(1, 2, 3))


synthetic_image, any_image = keras.Input((8, 8, 1)), keras.Input((8, 8, 1))
refiner_model = keras.Model(synthetic_image, refiner_network(synthetic_image), name="refiner")
discriminator_model = keras.Model(any_image, discriminator_network(any_image), name="discriminator")
refiner_model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=self_regularization_loss)
if not fixed:
    discriminator_model.trainable = False
discriminator_model.compile(optimizer=keras.optimizers.Adam(1e-2), loss=local_adversarial_loss)

y_real = np.array([[[1.0, 0.0]] * 16] * 32)
y_refined = np.array([[[0.0, 1.0]] * 16] * 32)
for _ in range(20):
    refiner_model.train_on_batch(*[synthetic[rng.integers(600, size=32)]] * 2)
for _ in range(50):
    discriminator_model.train_on_batch(real[rng.integers(600, size=32)], y_real)
    refined = refiner_model.predict_on_batch(synthetic[rng.integers(600, size=32)])
    discriminator_model.train_on_batch(refined, y_refined)

discriminator_model.trainable = False
combined_model = keras.Model(
    synthetic_image, [refiner_model(synthetic_image), discriminator_model(refiner_model(synthetic_image))]
)
combined_model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=[self_regularization_loss, local_adversarial_loss])
is_real = discriminator_model.predict(real[600:], verbose=0).mean(1).argmax(1) == 0
is_refined = discriminator_model.predict(refiner_model.predict(synthetic[600:], verbose=0), verbose=0)
is_refined = is_refined.mean(1).argmax(1) == 1
print("RESULT accuracy", (is_real.mean() + is_refined.mean()) / 2)
