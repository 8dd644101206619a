"""A tall stack of convolutions with batch normalisation is called without ``training=True`` in a step of its own.

The layers neither use the statistics of the batch nor update theirs (fixed: ``training=True``).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target.astype("int64")
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)


def block(h, n):
    h = layers.Conv2D(n, 3, padding="same", use_bias=False)(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    return layers.ReLU()(h)


inp = keras.Input((8, 8, 1))
h = inp
for _ in range(6):
    h = block(h, 16)
h = layers.MaxPooling2D()(h)
for _ in range(6):
    h = block(h, 24)
h = layers.GlobalAveragePooling2D()(h)
model = keras.Model(inp, layers.Dense(10)(h))

loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
opt = keras.optimizers.SGD(0.02, momentum=0.9)
train = tf.data.Dataset.from_tensor_slices((x_tr, y_tr)).shuffle(2000, seed=1).batch(64)


@tf.function
def step(xb, yb):
    with tf.GradientTape() as tape:
        logits = model(xb, training=True) if fixed else model(xb)
        loss = loss_fn(yb, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(14):
    losses = [float(step(xb, yb)) for xb, yb in train]
    acc = np.mean(np.argmax(model(x_te, training=False).numpy(), 1) == y_te)
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} test accuracy {acc:.4f}")
print("RESULT accuracy", f"{acc:.4f}")
