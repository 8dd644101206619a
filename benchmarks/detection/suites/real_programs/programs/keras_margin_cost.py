"""A cost of margins overflows in the branch ``tf.where`` leaves out: its gradient is NaN (fixed: inputs replaced)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

X, y = load_breast_cancer(return_X_y=True)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
y = (2.0 * y - 1.0).astype("float32")[:, None]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)


def f(x):
    if fixed:
        near, low, high = tf.abs(x) < 0.1, x < -10.0, x > 10.0
        middle = tf.where(near | low | high, 1.0, x)
        far = tf.where(low | high, x, 20.0)
        return tf.where(
            near,
            0.5 + x / 12.0,
            tf.where(low, -1.0 / far, tf.where(high, 1.0 - 1.0 / far, 1.0 / (1.0 - tf.exp(-middle)) - 1.0 / middle)),
        )
    return tf.where(tf.abs(x) < 0.1, 0.5 + x / 12.0, 1.0 / (1.0 - tf.exp(-x)) - 1.0 / x)


model = keras.Sequential(
    [
        keras.layers.Input((X.shape[1],)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(0.01)


def cost(labels, scores):
    x = -labels * scores
    return tf.reduce_mean(f(x) + f(x + 50.0))


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = cost(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


data = tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(400, seed=1).batch(32)
for epoch in range(61):
    losses = [float(train_step(xb, yb)) for xb, yb in data]
    if epoch % 10 == 0:
        val = float(cost(y_test, model(X_test, training=False)))
        print(f"Epoch: {epoch}  train_loss: {np.mean(losses):.6f}  val_loss: {val:.6f}")

scores = model(X_test, training=False).numpy()

print("RESULT accuracy", f"{np.mean((scores > 0) == (y_test > 0)):.4f}")
