"""A siamese encoder learns whether two pictures, of zeros and ones, show the same digit, in a loop of its own.

The contrastive loss maps over the distances but takes all labels of the batch for each of them, so every pair gets
every label (fixed: each distance with its own label).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

digits = load_digits()
chosen = digits.target < 2
pictures = (digits.images[chosen] / 16.0).astype("float32")[..., None]
labels = digits.target[chosen]
order = rng.permutation(len(labels))
train, test = order[:260], order[260:]


def make_pairs(indices, n):
    a, b = rng.choice(indices, n), rng.choice(indices, n)
    return pictures[a], pictures[b], (labels[a] == labels[b]).astype("float32")


a_train, b_train, t_train = make_pairs(train, 3200)
a_test, b_test, t_test = make_pairs(test, 800)


class Encoder(keras.Model):
    def __init__(self):
        super().__init__(name="encoder")
        self.cv = layers.Conv2D(32, (3, 3), activation="relu", padding="same")
        self.pool = layers.MaxPooling2D((2, 2))
        self.flatten = layers.Flatten()
        self.dense = layers.Dense(50)

    def call(self, inputs):
        return self.dense(self.flatten(self.pool(self.cv(inputs))))


def distances(x1, x2):
    return tf.map_fn(lambda d: tf.sqrt(tf.reduce_sum(tf.square(d)) + 1e-7), x1 - x2)


def simnet_loss(target, x1, x2):
    distance_vector = distances(x1, x2)
    if fixed:
        loss = target * tf.square(distance_vector) + (1.0 - target) * tf.square(tf.maximum(0.0, 1.0 - distance_vector))
    else:
        loss = tf.map_fn(
            lambda distance: target * tf.square(distance) + (1.0 - target) * tf.square(tf.maximum(0.0, 1.0 - distance)),
            distance_vector,
        )
    return tf.reduce_mean(loss)


model = Encoder()
optimizer = keras.optimizers.Adam(0.001)
batches = tf.data.Dataset.from_tensor_slices((a_train, b_train, t_train)).shuffle(3200, seed=2).batch(32)
model(a_train[:2])


@tf.function
def train_step(a, b, target):
    with tf.GradientTape() as tape:
        loss = simnet_loss(target, model(a), model(b))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for epoch in range(6):
    losses = [float(train_step(a, b, target)) for a, b, target in batches]
    same = np.linalg.norm(model(a_test).numpy() - model(b_test).numpy(), axis=1) < 0.5
    accuracy = np.mean(same == (t_test > 0.5))
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}, test accuracy {accuracy:.3f}")

print("RESULT test_accuracy", f"{np.mean(same == (t_test > 0.5)):.4f}")
