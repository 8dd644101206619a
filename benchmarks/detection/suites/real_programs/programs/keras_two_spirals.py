"""Two spirals are told apart by a layer that keeps plain ``tf.Variable`` objects in lists.

Keras does not track them, so only the head is trained (fixed: ``add_weight``).
"""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

rng = np.random.RandomState(0)
n = 1000
t = np.sqrt(rng.rand(n)) * 3 * np.pi
side = rng.randint(0, 2, n)
r = t / (3 * np.pi)
x = np.stack([r * np.cos(t + np.pi * side), r * np.sin(t + np.pi * side)], 1)
x = (x + rng.normal(0, 0.012, x.shape)).astype("float32") * 2
y = side.astype("float32")[:, None]


class Stack(keras.layers.Layer):
    def __init__(self, n_in, width, depth):
        super().__init__()
        self.depth = depth
        self.kernels = []
        self.biases = []
        for i in range(depth):
            fan = n_in if i == 0 else width
            value = tf.random.normal((fan, width), stddev=(2.0 / fan) ** 0.5, seed=i)
            if fixed:
                k = self.add_weight(
                    shape=(fan, width), name=f"k{i}", initializer=keras.initializers.Constant(value.numpy())
                )
                b = self.add_weight(shape=(width,), name=f"b{i}", initializer="zeros")
            else:
                k = tf.Variable(value, name=f"k{i}")
                b = tf.Variable(tf.zeros((width,)), name=f"b{i}")
            self.kernels.append(k)
            self.biases.append(b)

    def call(self, h):
        for k, b in zip(self.kernels, self.biases, strict=True):
            h = tf.nn.relu(tf.matmul(h, k) + b)
        return h


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.stack = Stack(2, 32, 3)
        self.head = keras.layers.Dense(1, activation="sigmoid")

    def call(self, inputs):
        return self.head(self.stack(inputs))


model = Net()
model.compile(optimizer=keras.optimizers.Adam(0.005), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x[:800], y[:800], validation_data=(x[800:], y[800:]), epochs=80, batch_size=32, verbose=2)
_, acc = model.evaluate(x[800:], y[800:], verbose=0)
print("RESULT accuracy", f"{acc:.4f}")
