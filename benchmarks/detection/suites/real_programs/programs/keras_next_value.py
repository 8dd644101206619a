"""A line is fitted to eight numbers by gradient descent, to predict the next value.

The learning rate of 0.01 is too high for inputs of up to 40, so the descent diverges to NaN (fixed: 0.001).
"""

import sys

import tensorflow as tf

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(777)

x_data = tf.constant([5, 10, 15, 20, 25, 30, 35, 40], tf.float32)
y_data = tf.constant([2, 4, 6, 8, 10, 12, 14, 16], tf.float32)


class Line(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.one = self.add_weight(shape=(1,), initializer=tf.keras.initializers.RandomNormal(stddev=1.0, seed=1))
        self.two = self.add_weight(shape=(1,), initializer=tf.keras.initializers.RandomNormal(stddev=1.0, seed=2))

    def call(self, x):
        return x * self.one + self.two


model = Line()
optimizer = tf.keras.optimizers.SGD(learning_rate=0.001 if fixed else 0.01)


@tf.function
def train():
    with tf.GradientTape() as tape:
        cost = tf.reduce_mean(tf.square(model(x_data) - y_data))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(cost, variables), variables, strict=True))
    return cost


for i in range(3000):
    cost = train()
    if i % 300 == 0:
        print(i, float(cost), model.one.numpy(), model.two.numpy())
print("RESULT mse", f"{float(tf.reduce_mean(tf.square(model(x_data) - y_data))):.6f}")
