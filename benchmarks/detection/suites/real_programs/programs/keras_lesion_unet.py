"""A small U-Net marks lesions in slices that also show harmless spots, in a loop of one's own with GradientTape.

Only about four in a hundred pixels belong to a lesion and every pixel counts alike in the loss, so the network calls
every pixel background (fixed: class weights of 0.05 and 0.95 in the loss).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
S = 32


def slices(n):
    yy, xx = np.mgrid[0:S, 0:S]
    images = np.zeros((n, S, S, 1), "float32")
    masks = np.zeros((n, S, S), "int32")
    for i in range(n):
        body = 0.4 + 0.1 * np.cos((xx - S / 2) / 9.0) * np.cos((yy - S / 2) / 9.0)
        images[i, ..., 0] = body + rng.normal(0, 0.12, (S, S))
        for spot in range(4):
            cx, cy = rng.uniform(5, S - 5, 2)
            inside = (xx - cx) ** 2 + (yy - cy) ** 2 < rng.uniform(2.6, 4.2) ** 2
            images[i, inside, 0] += rng.uniform(0.3, 0.45) if spot else rng.uniform(0.33, 0.48)
            if spot == 0:
                masks[i] = inside
    return images, masks


x_train, m_train = slices(320)
x_val, m_val = slices(80)
mean, std = x_train.mean(), x_train.std()
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std
print("share of lesion pixels", m_train.mean())


def block(x, n):
    x = layers.Conv2D(n, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(n, 3, padding="same", activation="relu")(x)


inp = keras.Input((S, S, 1))
d1 = block(inp, 8)
d2 = block(layers.MaxPooling2D()(d1), 16)
b = block(layers.MaxPooling2D()(d2), 32)
u2 = block(layers.Concatenate()([layers.UpSampling2D()(b), d2]), 16)
u1 = block(layers.Concatenate()([layers.UpSampling2D()(u2), d1]), 8)
model = keras.Model(inp, layers.Conv2D(2, 1)(u1))

optimizer = keras.optimizers.Adam(5e-4)
class_weights = tf.constant([0.05, 0.95])


@tf.function
def train_step(images, masks):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=masks, logits=logits)
        if FIXED:
            w = tf.gather(class_weights, masks)
            loss = tf.reduce_sum(w * ce) / tf.reduce_sum(w)
        else:
            loss = tf.reduce_mean(ce)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


batch = 8
for epoch in range(12):
    order = np.random.permutation(len(x_train))
    total = 0.0
    for i in range(0, len(order), batch):
        idx = order[i : i + batch]
        total += float(train_step(tf.constant(x_train[idx]), tf.constant(m_train[idx])))
    print("epoch", epoch, "loss", total / (len(order) // batch))

pred = model.predict(x_val, verbose=0).argmax(-1)
recall = np.mean(pred[m_val == 1] == 1)
specificity = np.mean(pred[m_val == 0] == 0)
print("pixels called lesion", pred.mean(), "pixel accuracy", (pred == m_val).mean(), "recall", recall)
print("RESULT balanced_accuracy", f"{(recall + specificity) / 2:.4f}")
