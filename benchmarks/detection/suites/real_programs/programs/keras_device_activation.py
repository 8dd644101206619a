"""A custom activation for digits takes log(1 + exp(z)), which overflows for large z (fixed: ``softplus``)."""

import sys

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)


class ParametricActivation(layers.Layer):
    def build(self, shape):  # noqa: ARG002 - Keras's signature
        def number(name, value):
            return self.add_weight(name=name, shape=(), trainable=True, initializer=keras.initializers.Constant(value))

        self.x1 = number("x1", 36.0)
        self.x2 = number("x2", 0.05)
        self.x3 = number("x3", 1.0 / 36.0)

    def call(self, inputs):
        z = self.x1 * (inputs - self.x2)
        if fixed:
            return self.x3 * tf.math.softplus(z)
        return self.x3 * tf.math.log(1.0 + tf.math.exp(z))


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

model = keras.Sequential(
    [
        layers.Input((64,)),
        layers.Dense(64),
        ParametricActivation(),
        layers.Dense(32),
        ParametricActivation(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=10, batch_size=32, validation_data=(X_test, y_test), verbose=2)

print("RESULT accuracy", f"{model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
