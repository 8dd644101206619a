import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
mk = lambda c, name: keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(c, 3, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.MaxPooling2D(2),
        layers.Conv2D(2 * c, 3),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
        layers.Dense(10),
    ],
    name=name,
)
T, S = mk(48, "teacher"), mk(8, "student")
T.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
T.fit(x[:1500], y[:1500], epochs=6, batch_size=64, validation_data=(x[1500:], y[1500:]), verbose=2)


class Distiller(keras.Model):
    def __init__(self):
        super().__init__()
        self.t, self.s = T, S
        self.t.trainable = False

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        tp = self.t(x, training=False)
        sl = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        dl = ops.mean(keras.losses.kl_divergence(ops.softmax(tp / 4.0), ops.softmax(y_pred / 4.0))) * 16
        return 0.3 * sl + 0.7 * dl

    def call(self, z, training=False):
        return self.s(z, training=training)


m = Distiller()
m.compile(keras.optimizers.Adam(2e-3), metrics=[keras.metrics.SparseCategoricalAccuracy()])
m.fit(x[:1500], y[:1500], epochs=6, batch_size=64, verbose=2)
