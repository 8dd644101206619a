"""A network of dense layers written by hand gives the value of a digit as a number.

It is trained in a loop of one's own with one's own mean squared error. Its predictions have the shape (32, 1) and the
values (32,), so their difference is a table of all with all, and the network learns the mean (fixed: values of shape
(32, 1)).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(4)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype(np.float32)
y = y.astype(np.float32)
X_train, X_test, Y_train, Y_test = train_test_split(X, y, test_size=0.2, random_state=4)


def mse_fn(y_true, y_pred):
    error = y_true - y_pred
    return tf.reduce_mean(tf.square(error))


class MyDense(keras.layers.Layer):
    def __init__(self, units, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = keras.activations.get(activation)

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units), initializer="glorot_normal")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(self, inputs):
        return self.activation(inputs @ self.kernel + self.bias)


model = keras.Sequential(
    [
        keras.layers.Input((64,)),
        MyDense(100, activation="relu"),
        MyDense(50, activation="relu"),
        MyDense(1),
    ]
)
optimizer = keras.optimizers.Adam()


@tf.function
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        y_pred = model(x_batch, training=True)
        loss = mse_fn(y_batch, y_pred)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


n_epochs = 40
batch_size = 32
n_steps = len(X_train) // batch_size
for epoch in range(1, n_epochs + 1):
    losses = []
    for _ in range(n_steps):
        idx = np.random.randint(len(X_train), size=batch_size)
        x_batch, y_batch = X_train[idx], Y_train[idx]
        if FIXED:
            y_batch = y_batch.reshape(-1, 1)
        losses.append(float(train_step(x_batch, y_batch)))
    print(f"Epoch {epoch}/{n_epochs} - loss: {np.mean(losses):.4f}")

predictions = model.predict(X_test, verbose=0)[:, 0]
error = np.abs(predictions - Y_test).mean()
print("RESULT test_mae", f"{error:.4f}")
