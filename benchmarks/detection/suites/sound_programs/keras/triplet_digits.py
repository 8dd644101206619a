"""Metric learning: batch-all triplet loss with PK batches on digits, judged by 1-NN on held-out images."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
x_train, x_test, y_train, y_test = train_test_split(x, d.target, test_size=0.25, stratify=d.target, random_state=8)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(16),
        layers.UnitNormalization(axis=1),
    ]
)


def batch_all_triplet(labels, emb, margin=0.3):
    dist = 2.0 - 2.0 * tf.matmul(emb, emb, transpose_b=True)  # squared distances of unit vectors
    same = tf.equal(labels[:, None], labels[None, :])
    pos = tf.cast(same, tf.float32) - tf.eye(tf.shape(labels)[0])
    # axes: anchor, positive and negative
    gap = dist[:, :, None] - dist[:, None, :] + margin
    valid = pos[:, :, None] * tf.cast(~same, tf.float32)[:, None, :]
    loss = tf.nn.relu(gap) * valid
    return tf.reduce_sum(loss) / (tf.reduce_sum(tf.cast(loss > 1e-6, tf.float32)) + 1e-6)


by_class = [np.where(y_train == c)[0] for c in range(10)]
P, K, STEPS = 10, 4, 500
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def step(xb, yb):
    with tf.GradientTape() as tape:
        loss = batch_all_triplet(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


running = []
for it in range(STEPS):
    idx = np.concatenate([rng.choice(by_class[c], K, replace=False) for c in range(P)])
    running.append(float(step(tf.constant(x_train[idx]), tf.constant(y_train[idx]))))
    if (it + 1) % 100 == 0:
        print(it + 1, f"loss {np.mean(running[-100:]):.4f}")

knn = KNeighborsClassifier(1).fit(model.predict(x_train, verbose=0), y_train)
print(f"RESULT nn_accuracy {knn.score(model.predict(x_test, verbose=0), y_test):.4f}")
