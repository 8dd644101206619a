"""A training loop of one's own has a validation pass after every epoch.

The validation calls the model with ``training=True``, so batch normalisation takes the statistics of small batches of
one class each (fixed: ``training=False``).
"""

import sys

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(30)

d = load_digits()
images = (d.images / 16.0).astype("float32")[..., None]
order = np.random.permutation(len(images))
x_train, y_train = images[order[:1200]], d.target[order[:1200]]
rest = order[1200:]
rest = rest[np.argsort(d.target[rest], kind="stable")]  # one folder per digit
x_val, y_val = images[rest], d.target[rest]

train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1200, seed=1).batch(32)
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(4)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        layers = tf.keras.layers
        self.conv1, self.bn1 = layers.Conv2D(16, 3, padding="same"), layers.BatchNormalization(momentum=0.9)
        self.conv2, self.bn2 = layers.Conv2D(32, 3), layers.BatchNormalization(momentum=0.9)
        self.pool, self.flat, self.out = layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10)
        self.hidden, self.bn3 = layers.Dense(64), layers.BatchNormalization(momentum=0.9)

    def call(self, x, training=False):
        x = tf.nn.relu(self.bn1(self.conv1(x), training=training))
        x = self.pool(tf.nn.relu(self.bn2(self.conv2(x), training=training)))
        x = tf.nn.relu(self.bn3(self.hidden(self.flat(x)), training=training))
        return self.out(x)


model = Net()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.001)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


@tf.function
def val_step(x, y):
    logits = model(x, training=False) if fixed else model(x, training=True)
    return loss_fn(y, logits), tf.reduce_sum(tf.cast(tf.argmax(logits, 1) == tf.cast(y, tf.int64), tf.float32))


for epoch in range(10):
    losses = [float(train_step(x, y)) for x, y in train_ds]
    val_losses, hits = zip(*[(float(a), float(b)) for a, b in (val_step(x, y) for x, y in val_ds)], strict=True)
    val_accuracy = sum(hits) / len(x_val)
    print(
        f"epoch {epoch + 1} loss {np.mean(losses):.4f} val_loss {np.mean(val_losses):.4f} "
        f"val_accuracy {val_accuracy:.4f}"
    )
print("RESULT val_accuracy", f"{val_accuracy:.4f}")
