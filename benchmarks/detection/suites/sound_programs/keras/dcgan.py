import keras
import tensorflow as tf
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
x = (load_digits().images / 16.0).astype("float32")[..., None]
D = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(64, 3, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(1, activation="sigmoid"),
    ],
    name="discriminator",
)
G = keras.Sequential(
    [
        keras.Input((16,)),
        layers.Dense(2 * 2 * 32),
        layers.Reshape((2, 2, 32)),
        layers.Conv2DTranspose(64, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2DTranspose(32, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(1, 5, padding="same", activation="sigmoid"),
    ],
    name="generator",
)


class GAN(keras.Model):
    def __init__(self, d, g):
        super().__init__()
        self.d, self.g = d, g
        self.dm = keras.metrics.Mean(name="d_loss")
        self.gm = keras.metrics.Mean(name="g_loss")
        self.seed = keras.random.SeedGenerator(1)

    def compile(self, do, go, loss):
        super().compile()
        self.do, self.go, self.lf = do, go, loss

    @property
    def metrics(self):
        return [self.dm, self.gm]

    def train_step(self, real):
        b = ops.shape(real)[0]
        z = keras.random.normal((b, 16), seed=self.seed)
        f = self.g(z)
        c = ops.concatenate([f, real], 0)
        l = ops.concatenate([ops.ones((b, 1)), ops.zeros((b, 1))], 0)
        l += 0.05 * keras.random.uniform(ops.shape(l), seed=self.seed)
        with tf.GradientTape() as t:
            dl = self.lf(l, self.d(c))
        self.do.apply_gradients(zip(t.gradient(dl, self.d.trainable_weights), self.d.trainable_weights))
        z = keras.random.normal((b, 16), seed=self.seed)
        mis = ops.zeros((b, 1))
        with tf.GradientTape() as t:
            gl = self.lf(mis, self.d(self.g(z)))
        self.go.apply_gradients(zip(t.gradient(gl, self.g.trainable_weights), self.g.trainable_weights))
        self.dm.update_state(dl)
        self.gm.update_state(gl)
        return {"d_loss": self.dm.result(), "g_loss": self.gm.result()}


m = GAN(D, G)
m.compile(keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4), keras.losses.BinaryCrossentropy())
m.fit(tf.data.Dataset.from_tensor_slices(x).shuffle(2000).batch(64), epochs=4, verbose=2)
