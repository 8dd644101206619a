"""A custom loop trains a CNN with batch normalisation to tell three kinds of drawn chest images apart.

The model is called without training=True in the training step, so that batch normalisation uses its moving averages and
never updates them, and dropout does nothing (fixed: training=True in the training step).
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SIZE = 32


def chest(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype("float32")
    img = np.full((SIZE, SIZE), rng.uniform(0.5, 0.65), "float32")
    for cx in (9 + rng.normal(0, 1), 23 + rng.normal(0, 1)):
        cy = 16 + rng.normal(0, 1)
        lung = ((yy - cy) / 12) ** 2 + ((xx - cx) / 6) ** 2 < 1
        img[lung] -= 0.3
        if kind == 1:
            img += np.where(lung, 0.25, 0) * (yy > cy + 2)
        elif kind == 2:
            for _ in range(4):
                y, x = cy + rng.normal(0, 5), cx + rng.normal(0, 2.5)
                img += 0.3 * np.exp(-((yy - y) ** 2 + (xx - x) ** 2) / 4) * lung
    img += 0.05 * np.sin(yy * 2 * np.pi / 6 + rng.uniform(0, 6))
    img = img * rng.uniform(0.8, 1.2) + rng.normal(0, 0.05, img.shape)
    return np.clip(img, 0, 1)


labels = rng.integers(0, 3, 1600)
images = np.stack([chest(k) for k in labels])[..., None].astype("float32")
x_train, y_train, x_test, y_test = images[:1200], labels[:1200], images[1200:], labels[1200:]


def block(x, filters, stride):
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(x)


inputs = keras.Input((SIZE, SIZE, 1))
x = inputs
for filters, stride in [(12, 2)] + [(12, 1)] * 2 + [(24, 2)] + [(24, 1)] * 3 + [(32, 2)] + [(32, 1)] * 4:
    x = block(x, filters, stride)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs, outputs)

loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(0.02, momentum=0.9)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True) if FIXED else model(x)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1200, seed=1).batch(32)
for epoch in range(7):
    total = 0.0
    for xb, yb in dataset:
        total += float(train_step(xb, yb))
    logits = model.predict(x_test, batch_size=100, verbose=0)
    val_loss = float(loss_fn(y_test, logits))
    accuracy = (logits.argmax(1) == y_test).mean()
    print(f"epoch {epoch + 1} loss {total / len(dataset):.4f} val_loss {val_loss:.4f} val_accuracy {accuracy:.4f}")
print("RESULT test_accuracy", f"{accuracy:.4f}")
