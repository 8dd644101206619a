"""A hand-written loss compares outputs (N, 1) with targets (N,), each with each (fixed: targets of shape (N, 1))."""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

x = rng.random((1600, 4)).astype("float32")
y = 0.1 * x.sum(axis=1)
if fixed:
    y = y[:, None]
x_test = rng.random((400, 4)).astype("float32")
y_test = 0.1 * x_test.sum(axis=1)

model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def train_custom(xb, yb):
    with tf.GradientTape() as tape:
        prediction = model(xb, training=True)
        loss = tf.reduce_mean(tf.square(yb - prediction))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1600, seed=6).batch(32)
for episode in range(20):
    total = [float(train_custom(xb, yb)) for xb, yb in batches]
    if episode % 4 == 3:
        print(f"episode: {episode} loss: {np.mean(total):.8f}")
print("weights", model.layers[0].get_weights()[0][:, 0], "bias", model.layers[0].get_weights()[1])

p = model.predict(x_test, verbose=0)[:, 0]

print("RESULT r2", f"{1 - np.mean((p - y_test) ** 2) / np.var(y_test):.4f}")
