"""A ``train_step`` compares targets (N,) with predictions (N, 1), each with each (fixed: targets (N, 1))."""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(13)

EPOCHS = 20
BATCH_SIZE = 32

x = np.random.normal(size=(1000, 3)).astype("float32")
y = (x @ np.array([2.0, -1.0, 0.5]) + 3.0 + 0.1 * np.random.normal(size=1000)).astype("float32")
x_train, x_test, y_train, y_test = x[:800], x[800:], y[:800], y[800:]


def mse(y_true, y_pred):
    return tf.reduce_mean(tf.math.square(y_true - y_pred))


class LinearRegression(keras.Model):
    def __init__(self):
        super().__init__()
        self.layer = keras.layers.Dense(1, kernel_initializer="zeros")
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, input_data, training=None):  # noqa: ARG002 - Keras's signature
        return self.layer(input_data)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            prediction = self(x, training=True)
            loss = mse(tf.reshape(y, (-1, 1)) if fixed else y, prediction)
        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        self.optimizer.apply_gradients(zip(gradients, trainable_vars, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


linear_model = LinearRegression()
linear_model.compile(optimizer=keras.optimizers.SGD())
linear_model.fit(x_train, y_train, epochs=EPOCHS, batch_size=BATCH_SIZE, verbose=2)

prediction = linear_model.predict(x_test, verbose=0)[:, 0]
print("weights", [w.numpy().ravel().tolist() for w in linear_model.trainable_variables])
r2 = 1 - np.mean((prediction - y_test) ** 2) / y_test.var()
print("R2", r2)

print("RESULT test_r2", r2)
