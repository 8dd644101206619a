"""A step of one's own compares targets (16,) with predictions (16, 1), each with each (fixed: targets (16, 1))."""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(17)

x_all = np.random.uniform(-2, 2, size=(1280, 2)).astype("float32")
y_all = (np.sin(2 * x_all[:, 0]) + 0.5 * x_all[:, 1] ** 2 - 0.7).astype("float32")
x_train, y_train = x_all[:1024], y_all[:1024]
x_test, y_test = x_all[1024:], y_all[1024:]

dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1024).batch(16)


class MyModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = keras.layers.Dense(32, activation="tanh")
        self.d2 = keras.layers.Dense(32, activation="tanh")
        self.out = keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.d2(self.d1(x)))


model = MyModel()
model(x_train[:1])
optimizer = keras.optimizers.Adam(0.005)


@tf.function
def train_step(x, y):
    if fixed:
        y = y[:, tf.newaxis]
    with tf.GradientTape() as tape:
        y_pred = model(x, training=True)
        loss = tf.reduce_mean(tf.square(y - y_pred))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(25):
    losses = [float(train_step(x, y)) for x, y in dataset]
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", np.mean(losses))

pred = model(x_test).numpy().ravel()
mse = np.mean((pred - y_test) ** 2)
print("test mse", mse, "variance of targets", y_test.var())
print("spread of predictions", pred.std())

print("RESULT test_mse", mse)
