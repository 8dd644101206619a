"""Embeddings of digits are learnt by a batch-hard triplet loss.

With a learning rate of 0.02, all of them collapse on one point (fixed: smaller learning rate, 0.001).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
images, digits = load_digits(return_X_y=True)
images = (images / 16.0).astype("float32").reshape(-1, 8, 8, 1)
x_train, x_test, y_train, y_test = train_test_split(images, digits, test_size=0.3, random_state=0, stratify=digits)

MARGIN = 0.5


def pairwise_dist(embeddings):
    dot = tf.matmul(embeddings, embeddings, transpose_b=True)
    squares = tf.linalg.diag_part(dot)
    distances = squares[:, None] - 2.0 * dot + squares[None, :]
    distances = tf.maximum(distances, 0.0)
    zeros = tf.cast(tf.equal(distances, 0.0), tf.float32)
    return tf.sqrt(distances + zeros * 1e-16) * (1.0 - zeros)


def batch_hard(labels, embeddings):
    distances = pairwise_dist(embeddings)
    same = tf.equal(labels[:, None], labels[None, :])
    positives = tf.cast(same, tf.float32) * distances
    hardest_pos = tf.reduce_max(positives, 1)
    negatives = distances + tf.cast(same, tf.float32) * tf.reduce_max(distances, 1, keepdims=True)
    hardest_neg = tf.reduce_min(negatives, 1)
    return tf.reduce_mean(tf.maximum(hardest_pos - hardest_neg + MARGIN, 0.0))


model = keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, activation="relu", padding="same"),
        layers.Conv2D(32, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(16),
    ]
)
optimizer = keras.optimizers.Adam(1e-3 if fixed else 2e-2)
batches = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(2000, seed=1).batch(64)


@tf.function
def step(xb, yb):
    with tf.GradientTape() as tape:
        loss = batch_hard(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(20):
    losses = [float(step(xb, yb)) for xb, yb in batches]
    print(f"epoch {epoch + 1}  loss {np.mean(losses):.4f}")
e_train = model.predict(x_train, verbose=0)
e_test = model.predict(x_test, verbose=0)
knn = KNeighborsClassifier(5).fit(e_train, y_train)
print("RESULT knn_accuracy", f"{knn.score(e_test, y_test):.4f}")
