"""A network with a layer of wavelets, whose scales are to be learnt, tells six speakers apart by short signals.

The scales are a plain ``tf.Variable`` that Keras does not track, so they stay as they were at the start
(fixed: ``add_weight``).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

T = 128
pitches = np.array([0.13, 0.16, 0.19, 0.22, 0.25, 0.28])


def speak(n):
    y = rng.integers(0, len(pitches), n)
    t = np.arange(T)
    f = pitches[y] * rng.normal(1, 0.015, n)
    x = np.sin(2 * np.pi * (f[:, None] * t + rng.random((n, 1))))
    x += 1.5 * np.sin(2 * np.pi * (rng.uniform(0.01, 0.05, (n, 1)) * t + rng.random((n, 1))))
    x += rng.normal(0, 0.3, (n, T))
    return x[..., None].astype("float32"), y


class WaveletDeconvolution(keras.layers.Layer):
    def __init__(self, nb_widths, kernel_length=33, **kwargs):
        super().__init__(**kwargs)
        self.nb_widths = nb_widths
        self.kernel_length = kernel_length

    def build(self, input_shape):  # noqa: ARG002 - Keras's signature
        start = np.linspace(4.0, 7.0, self.nb_widths).astype("float32")
        if fixed:
            self.W = self.add_weight(
                name="widths",
                shape=(self.nb_widths,),
                initializer=lambda shape, dtype=None: tf.constant(start),  # noqa: ARG005 - Keras's signature
            )
        else:
            self.W = tf.Variable(start, name="widths", trainable=True)

    def call(self, x):
        grid = tf.range(self.kernel_length, dtype="float32") - (self.kernel_length - 1) / 2
        w = tf.maximum(tf.convert_to_tensor(self.W), 0.3)
        u = tf.square(grid[:, None] / w[None, :])
        amplitude = 2.0 / (tf.sqrt(3.0 * w) * np.pi**0.25)
        kernel = amplitude * (1.0 - u) * tf.exp(-u / 2.0)
        return tf.nn.conv1d(x, kernel[:, None, :], stride=1, padding="SAME")


class LogEnergy(keras.layers.Layer):
    def call(self, x):
        return tf.math.log(tf.reduce_mean(tf.square(x), axis=1) + 1e-3)


x_train, y_train = speak(2000)
x_test, y_test = speak(600)

model = keras.Sequential(
    [
        keras.Input((T, 1)),
        WaveletDeconvolution(4),
        LogEnergy(),
        Dense(32, activation="relu"),
        Dense(len(pitches), activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(0.01), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_test, y_test), verbose=2)
print("widths", np.round(keras.ops.convert_to_numpy(model.layers[0].W), 3))
_, acc = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{acc:.4f}")
