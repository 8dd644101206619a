import keras
import tensorflow as tf
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
x = (load_digits().images / 16.0).astype("float32")[..., None]


class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.g = keras.random.SeedGenerator(1)

    def call(self, i):
        m, v = i
        return m + ops.exp(0.5 * v) * keras.random.normal(ops.shape(m), seed=self.g)


e = keras.Input((8, 8, 1))
h = layers.Conv2D(32, 3, activation="relu", strides=2, padding="same")(e)
h = layers.Flatten()(h)
h = layers.Dense(16, activation="relu")(h)
mu = layers.Dense(2, name="z_mean")(h)
lv = layers.Dense(2, name="z_log_var")(h)
enc = keras.Model(e, [mu, lv, Sampling()([mu, lv])])
l = keras.Input((2,))
h = layers.Dense(4 * 4 * 32, activation="relu")(l)
h = layers.Reshape((4, 4, 32))(h)
h = layers.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same")(h)
dec = keras.Model(l, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(h))


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = enc, dec
        self.t = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.t]

    def train_step(self, d):
        with tf.GradientTape() as tape:
            m, v, z = self.enc(d)
            r = self.dec(z)
            rec = ops.mean(ops.sum(keras.losses.binary_crossentropy(d, r), axis=(1, 2)))
            kl = ops.mean(ops.sum(-0.5 * (1 + v - ops.square(m) - ops.exp(v)), axis=1))
            tot = rec + kl
        self.optimizer.apply_gradients(zip(tape.gradient(tot, self.trainable_weights), self.trainable_weights))
        self.t.update_state(tot)
        return {"loss": self.t.result()}


m = VAE()
m.compile(keras.optimizers.Adam(2e-3))
m.fit(x, epochs=8, batch_size=64, verbose=2)
