"""A classifier has an own layer that keeps its tensors in a list.

Keras does not track a ``tf.Variable`` in such a list, so only the last dense layer is trained (fixed: ``add_weight``).
"""

import sys

import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(21)


class FooLayer(tf.keras.layers.Layer):
    """a chain of small matrices, one after the other"""

    def __init__(self, siz, width):
        super().__init__()
        self.siz = siz
        self.width = width
        self.build_foo()

    def build_foo(self):
        self.FooTns = []
        dims = [2] + [self.width] * self.siz
        for it in range(self.siz):
            shape = (dims[it], dims[it + 1])
            if fixed:
                w = self.add_weight(shape=shape, initializer="glorot_uniform", name=f"TNS{it}")
                b = self.add_weight(shape=(shape[1],), initializer="zeros", name=f"B{it}")
            else:
                w = tf.Variable(tf.keras.initializers.GlorotUniform()(shape), name=f"TNS{it}")
                b = tf.Variable(tf.zeros((shape[1],)), name=f"B{it}")
            self.FooTns.append((w, b))

    def call(self, in_data):
        h = in_data
        for w, b in self.FooTns:
            h = tf.nn.tanh(tf.matmul(h, w) + b)
        return h


class FooModel(tf.keras.Model):
    def __init__(self, siz, width):
        super().__init__()
        self.flayer = FooLayer(siz, width)
        self.head = tf.keras.layers.Dense(1, activation="sigmoid")

    def call(self, in_data):
        return self.head(self.flayer(in_data))


n = 1400
y = np.random.randint(0, 2, n)
r = np.random.uniform(0.3, 2.6, n)
phi = 2.0 * r + np.pi * y + np.random.normal(0, 0.15, n)
X = np.stack([r * np.cos(phi), r * np.sin(phi)], 1).astype("float32")

model = FooModel(3, 16)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X[:1000], y[:1000], batch_size=32, epochs=30, validation_data=(X[1000:], y[1000:]), verbose=2)
print("RESULT val_accuracy", round(float(model.evaluate(X[1000:], y[1000:], verbose=0)[1]), 4))
