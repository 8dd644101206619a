"""Spam by a recurrent net: softmax, and then sparse_softmax_cross_entropy_with_logits (fixed: logits)."""

import sys

import data
import keras
import tensorflow as tf
from keras.layers import Dense, Dropout, Embedding, SimpleRNN

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, y = data.texts(1200, 16, 100)
model = keras.Sequential([keras.Input((16,), dtype="int32")])
model.add(Embedding(100, 24))
model.add(SimpleRNN(16))
model.add(Dropout(0.2))
model.add(Dense(2, activation=None if fixed else "softmax"))
optimizer = keras.optimizers.RMSprop(2e-3)
for _ in range(5):
    for start in range(0, 960, 40):
        with tf.GradientTape() as tape:
            logits_out = model(x[start : start + 40], training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits_out, labels=y[start : start + 40])
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=model(x[960:], training=False), labels=y[960:])
print("RESULT loss", float(tf.reduce_mean(losses)))
