"""Categorical cross-entropy normalises the only sigmoid output to 1, so it has no gradient (fixed: binary)."""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(19)

points = np.random.uniform(0, 1, (250, 2, 1)).astype("float32")
inside = (points[:, 0] + 0.6 * points[:, 1] > 0.8).astype("float32")
x = tf.constant(points)
y = tf.constant(inside[..., None])

w0 = tf.Variable(tf.random.normal([4, 2]), name="w0")
w1 = tf.Variable(tf.random.normal([1, 4]), name="w1")
b1 = tf.Variable(tf.zeros([4, 1]), name="b1")
b2 = tf.Variable(tf.zeros([1, 1]), name="b2")
variables = [b1, b2, w0, w1]

loss = keras.losses.BinaryCrossentropy() if fixed else keras.losses.CategoricalCrossentropy()


def forward(x):
    z1 = tf.matmul(w0, x) + b1
    x1 = tf.nn.relu(z1)
    z2 = tf.matmul(w1, x1) + b2
    return tf.nn.sigmoid(z2)


def train(x, y, learning_rate):
    with tf.GradientTape() as t:
        current_loss = loss(y, forward(x))
    gradients = t.gradient(current_loss, variables)
    for variable, gradient in zip(variables, gradients, strict=True):
        variable.assign_sub(learning_rate * gradient)
    return current_loss


for epoch in range(600):
    current_loss = train(x, y, learning_rate=0.5)
    if epoch % 60 == 0:
        print("epoch", epoch, "loss", float(current_loss))

guess = forward(x).numpy() > 0.5
accuracy = np.mean(guess == (y.numpy() > 0.5))
print("accuracy", accuracy)

print("RESULT acc", accuracy)
