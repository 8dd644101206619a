"""A CNN for small colour pictures, trained with a loss from tf.nn in a loop of one's own.

The network ends in a softmax, and its output is given to softmax_cross_entropy_with_logits, so that softmax is applied
twice (fixed: the loss gets the output before the softmax).
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(13)
rng = np.random.default_rng(13)
SIZE, CLASSES = 16, 12


def picture(label):
    colour, texture = label % 3, label // 3
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype("float32")
    phase, freq = rng.uniform(0, 6), rng.uniform(0.9, 1.4)
    pattern = [
        np.sin(freq * xx + phase),
        np.sin(freq * yy + phase),
        np.sin(freq * (xx + yy) / 1.4 + phase),
        np.sin(freq * np.hypot(xx - 8, yy - 8) + phase),
    ][texture]
    tint = np.full(3, 0.25)
    tint[colour] = rng.uniform(0.35, 0.6)
    img = 0.45 + pattern[..., None] * tint * rng.uniform(0.4, 0.9) + rng.normal(0, 0.14, (SIZE, SIZE, 3))
    return np.clip(img, 0, 1)


labels = rng.integers(0, CLASSES, 2400)
images = np.stack([picture(k) for k in labels]).astype("float32")
onehot = np.eye(CLASSES, dtype="float32")[labels]
x_train, y_train, x_test, y_test = images[:2000], onehot[:2000], images[2000:], onehot[2000:]

inputs = keras.Input((SIZE, SIZE, 3))
x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
x = layers.MaxPooling2D()(x)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D()(x)
x = layers.Flatten()(x)
x = layers.Dense(64, activation="relu")(x)
logits = layers.Dense(CLASSES)(x)
softmax = layers.Softmax()(logits)
model = keras.Model(inputs, [logits, softmax])
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        logits, softmax = model(xb, training=True)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=yb, logits=logits if FIXED else softmax))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss, tf.reduce_mean(tf.cast(tf.argmax(softmax, 1) == tf.argmax(yb, 1), tf.float32))


BATCH = 50
for epoch in range(10):
    order = rng.permutation(len(x_train))
    losses, accs = [], []
    for i in range(0, len(order), BATCH):
        b = order[i : i + BATCH]
        loss, acc = train_step(x_train[b], y_train[b])
        losses.append(float(loss))
        accs.append(float(acc))
    _, probabilities = model.predict(x_test, batch_size=200, verbose=0)
    test_acc = (probabilities.argmax(1) == y_test.argmax(1)).mean()
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} acc {np.mean(accs):.4f} test acc {test_acc:.4f}")
print("RESULT test_accuracy", f"{test_acc:.4f}")
