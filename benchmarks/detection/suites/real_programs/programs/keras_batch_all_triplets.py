"""A dense network learns an embedding of handwritten digits with a triplet loss over all triplets of a batch.

The labels have the shape (batch, 1), so that the masks get a further axis and broadcasting pairs each triplet with the
labels of other samples. The loss stays at the margin, and the embedding does not bring equal digits together
(fixed: labels of shape (batch,)).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from tensorflow import keras

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(2)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=2)
if not FIXED:
    y_train = y_train.reshape(-1, 1)

BATCH, MARGIN = 24, 0.5
train = tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(2000, seed=2).batch(BATCH, drop_remainder=True)

embed = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(8),
    ]
)
optimizer = keras.optimizers.Adam(0.001)


def pairwise_distances(e):
    dot = tf.matmul(e, e, transpose_b=True)
    square = tf.linalg.diag_part(dot)
    return tf.maximum(square[None, :] - 2.0 * dot + square[:, None], 0.0)


def triplet_mask(labels):
    other = tf.logical_not(tf.eye(BATCH, dtype=tf.bool))
    distinct = other[:, :, None] & other[:, None, :] & other[None, :, :]
    same = tf.equal(tf.expand_dims(labels, 0), tf.expand_dims(labels, 1))
    valid = tf.expand_dims(same, 2) & tf.logical_not(tf.expand_dims(same, 1))
    return tf.cast(distinct & valid, tf.float32)


def batch_all_triplet_loss(labels, e):
    d = pairwise_distances(e)
    loss = tf.expand_dims(d, 2) - tf.expand_dims(d, 1) + MARGIN
    loss = tf.maximum(loss * triplet_mask(labels), 0.0)
    positive = tf.reduce_sum(tf.cast(loss > 1e-16, tf.float32))
    return tf.reduce_sum(loss) / (positive + 1e-16)


@tf.function
def step(x, labels):
    with tf.GradientTape() as tape:
        loss = batch_all_triplet_loss(labels, embed(x, training=True))
    gradients = tape.gradient(loss, embed.trainable_variables)
    optimizer.apply_gradients(zip(gradients, embed.trainable_variables, strict=True))
    return loss


for epoch in range(15):
    losses = [float(step(x, labels)) for x, labels in train]
    print("epoch", epoch + 1, "loss", np.mean(losses))

knn = KNeighborsClassifier(5).fit(embed.predict(X_train, verbose=0), np.ravel(y_train))
print("RESULT test_accuracy", f"{knn.score(embed.predict(X_test, verbose=0), y_test):.4f}")
