"""XOR is learnt by one hidden layer, with TensorFlow's functions.

Softmax cross-entropy is used on a single output, whose softmax is always 1 (fixed: a squared error).
"""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
tf.config.experimental.enable_op_determinism()

x = tf.constant([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y_input = tf.constant([[0.0], [1.0], [1.0], [0.0]])

w1 = tf.Variable(tf.random.normal([2, 5], stddev=1.0))
b1 = tf.Variable(tf.zeros([5]))
w2 = tf.Variable(tf.random.normal([5, 1], stddev=0.5))
b2 = tf.Variable(tf.zeros([1]))
params = [w1, b1, w2, b2]
optimizer = keras.optimizers.SGD(0.1)


def inference(a):
    hidden = tf.nn.tanh(tf.matmul(a, w1) + b1)
    return tf.matmul(hidden, w2) + b2


@tf.function
def step():
    with tf.GradientTape() as tape:
        logits = inference(x)
        if fixed:
            loss = tf.nn.l2_loss(logits - y_input)
        else:
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y_input))
    optimizer.apply_gradients(zip(tape.gradient(loss, params), params, strict=True))
    return loss


for i in range(3000):
    loss = step()
    if i % 300 == 0:
        print("step", i, "loss", float(loss), "outputs", inference(x).numpy().ravel())
accuracy = np.mean((inference(x).numpy() > 0.5) == (y_input.numpy() > 0.5))
print("RESULT accuracy", f"{accuracy:.2f}")
