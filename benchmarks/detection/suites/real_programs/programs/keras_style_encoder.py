"""A generator paints pictures from a map of regions and the style of an example picture, as GauGAN does.

The latent vector is drawn before the tape is opened, and gradients are taken for the generator alone. The encoder keeps
its random weights, and the style is lost in the noise of the latent vector (fixed: the encoder runs under the tape, and
its variables are updated with those of the generator).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
SIZE, REGIONS, LATENT = 16, 3, 8


def scenes(n):
    maps = np.zeros((n, SIZE, SIZE, REGIONS), "float32")
    images = np.zeros((n, SIZE, SIZE, 3), "float32")
    columns = np.arange(SIZE)
    rows = np.arange(SIZE)[:, None]
    for i in range(n):
        horizon = rng.integers(5, 9) + 1.5 * np.sin(columns / 4 + rng.uniform(0, 6))
        shore = horizon + rng.integers(3, 5)
        sky = rows < horizon
        land = (rows >= horizon) & (rows < shore)
        region = np.stack([sky, land, ~(sky | land)], -1)
        daytime, season = rng.uniform(-1, 1, 2)
        colours = np.array(
            [
                [0.5 * daytime, 0.1 + 0.5 * season, -0.6 * daytime],
                [0.6 * season, -0.5 * season, 0.4 * daytime],
                [-0.5 * season, 0.5 * daytime, 0.6 * daytime],
            ]
        )
        maps[i] = region
        images[i] = region.astype(float) @ colours + rng.normal(0, 0.03, (SIZE, SIZE, 3))
    return maps, images


def build_encoder():
    image = keras.Input((SIZE, SIZE, 3))
    x = image
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, strides=2, padding="same")(x)
        x = layers.LeakyReLU(negative_slope=0.2)(x)
    x = layers.Flatten()(x)
    return keras.Model(image, [layers.Dense(LATENT)(x), layers.Dense(LATENT)(x)], name="encoder")


def build_generator():
    latent = keras.Input((LATENT,))
    region = keras.Input((SIZE, SIZE, REGIONS))
    x = layers.Dense(4 * 4 * 32)(latent)
    x = layers.Reshape((4, 4, 32))(x)
    for filters, pool in ((32, 4), (24, 2), (16, 1)):
        small = layers.AveragePooling2D(pool)(region) if pool > 1 else region
        x = layers.Concatenate()([x, small])
        x = layers.Conv2D(filters, 3, padding="same")(x)
        x = layers.LeakyReLU(negative_slope=0.2)(x)
        if pool > 1:
            x = layers.UpSampling2D()(x)
    out = layers.Conv2D(3, 3, padding="same", activation="tanh")(x)
    return keras.Model([latent, region], out, name="generator")


class StyleModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = build_encoder()
        self.generator = build_generator()
        self.loss_tracker = keras.metrics.Mean(name="loss")

    def call(self, data):
        region, image = data
        mean, _ = self.encoder(image)
        return self.generator([mean, region])

    def draw(self, image):
        mean, log_var = self.encoder(image, training=True)
        latent = mean + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))
        return latent, mean, log_var

    def train_step(self, data):
        region, image = data[0]
        variables = list(self.generator.trainable_variables)
        if FIXED:
            variables += self.encoder.trainable_variables
        else:
            latent, mean, log_var = self.draw(image)
        with tf.GradientTape() as tape:
            if FIXED:
                latent, mean, log_var = self.draw(image)
            fake = self.generator([latent, region], training=True)
            feature_loss = tf.reduce_mean(tf.abs(fake - image)) * 10
            kl = -0.5 * tf.reduce_mean(1 + log_var - mean**2 - tf.exp(log_var))
            loss = feature_loss + 0.01 * kl
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


train_maps, train_images = scenes(1280)
test_maps, test_images = scenes(300)
model = StyleModel()
model([train_maps[:2], train_images[:2]])
model.compile(optimizer=keras.optimizers.Adam(0.002))
data = tf.data.Dataset.from_tensor_slices((((train_maps, train_images)),)).shuffle(1600).batch(32)
model.fit(data, epochs=6, verbose=2)

fake = model([test_maps, test_images]).numpy()
error = ((fake - test_images) ** 2).mean() / test_images.var()
print("RESULT explained_variance", f"{1 - error:.4f}")
