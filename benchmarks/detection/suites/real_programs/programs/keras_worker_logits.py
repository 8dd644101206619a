"""A model function of one's own trains a small CNN on digits with SGD, and takes the cross-entropy of logits.

The last layer has a softmax already, so the loss takes shares for logits and learning hardly comes forward (fixed: no
softmax there).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(9)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).reshape(-1, 8, 8, 1).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=9)

BATCH_SIZE = 64
LEARNING_RATE = 0.05

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10, activation=None if fixed else "softmax"),
    ]
)
optimizer = keras.optimizers.SGD(learning_rate=LEARNING_RATE)


@tf.function
def train(features, labels):
    with tf.GradientTape() as tape:
        logits = model(features, training=True)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_sum(loss) * (1.0 / BATCH_SIZE)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


dataset = (
    tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(2000, seed=1).batch(BATCH_SIZE, drop_remainder=True)
)
for epoch in range(20):
    losses = [float(train(features, labels)) for features, labels in dataset]
    acc = np.mean(model.predict(X_test, verbose=0).argmax(axis=1) == y_test)
    print(f"epoch {epoch} loss {np.mean(losses):.4f} test accuracy {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
