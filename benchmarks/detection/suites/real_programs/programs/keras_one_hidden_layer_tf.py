"""A network with one hidden layer, written with ``tf.Variable``, learns pictures of digits.

All weights start at zero, so no gradient reaches the first layer, and the hidden layer is a softmax (fixed: random
weights, and a sigmoid).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
tf.config.experimental.enable_op_determinism()

d = load_digits()
X = (d.data / 16.0).astype("float32")
Y = np.eye(10, dtype="float32")[d.target]
x_train, x_test, y_train, y_test = train_test_split(X, Y, test_size=0.25, random_state=0)

if fixed:
    W1 = tf.Variable(tf.random.truncated_normal([64, 10], stddev=0.1))
    b1 = tf.Variable(tf.random.truncated_normal([10], stddev=0.1))
    W2 = tf.Variable(tf.random.truncated_normal([10, 10], stddev=0.1))
    b2 = tf.Variable(tf.random.truncated_normal([10], stddev=0.1))
else:
    W1 = tf.Variable(tf.zeros([64, 10]))
    b1 = tf.Variable(tf.zeros([10]))
    W2 = tf.Variable(tf.zeros([10, 10]))
    b2 = tf.Variable(tf.zeros([10]))
variables = [W1, b1, W2, b2]


def network(x):
    h = tf.matmul(x, W1) + b1
    out1 = tf.nn.sigmoid(h) if fixed else tf.nn.softmax(h)
    return tf.matmul(out1, W2) + b2


optimizer = keras.optimizers.SGD(0.5)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = network(x)
        cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer.apply_gradients(zip(tape.gradient(cross_entropy, variables), variables, strict=True))
    return cross_entropy


rng = np.random.default_rng(0)
for i in range(2000):
    pick = rng.choice(len(x_train), 100, replace=False)
    loss = train_step(x_train[pick], y_train[pick])
    if i % 200 == 0:
        print("step", i, "cross entropy", float(loss))
accuracy = np.mean(network(x_test).numpy().argmax(1) == y_test.argmax(1))
print("RESULT accuracy", f"{accuracy:.4f}")
