"""Custom GradientTape loop: small residual CNN on drawn shapes, AdamW with warm-up and cosine decay."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

tf.keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
S = 24


def draw(kind):
    yy, xx = np.mgrid[:S, :S].astype("float32")
    cx, cy = rng.uniform(9, S - 9, 2)
    r = rng.uniform(4.5, 8)
    if kind == 0:
        m = (xx - cx) ** 2 + (yy - cy) ** 2 < r * r
    elif kind == 1:
        m = (abs(xx - cx) < r * 0.85) & (abs(yy - cy) < r * 0.85)
    elif kind == 2:
        m = (yy > cy - r) & (yy < cy + r * 0.8) & (abs(xx - cx) < (yy - cy + r) * 0.55)
    else:
        m = ((abs(xx - cx) < r * 0.3) & (abs(yy - cy) < r)) | ((abs(yy - cy) < r * 0.3) & (abs(xx - cx) < r))
    fg, bg = rng.uniform(0.6, 1.0, 3), rng.uniform(0.0, 0.35, 3)
    img = np.where(m[..., None], fg, bg) + rng.normal(0, 0.12, (S, S, 3))
    return np.clip(img, 0, 1)


y = rng.integers(0, 4, 1600)
x = np.stack([draw(k) for k in y]).astype("float32")
x_train, y_train, x_val, y_val = x[:1200], y[:1200], x[1200:], y[1200:]
mean, std = x_train.mean((0, 1, 2)), x_train.std((0, 1, 2))
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std


def block(x, filters, stride):
    short = x
    h = layers.Conv2D(filters, 3, stride, padding="same", use_bias=False, kernel_initializer="he_normal")(x)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.ReLU()(h)
    h = layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    if stride > 1:
        short = layers.Conv2D(filters, 1, stride, use_bias=False)(short)
        short = layers.BatchNormalization(momentum=0.9)(short)
    return layers.ReLU()(h + short)


inp = keras.Input((S, S, 3))
h = layers.Conv2D(12, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(inp)
h = layers.BatchNormalization(momentum=0.9)(h)
h = layers.ReLU()(h)
h = block(h, 16, 2)
h = block(h, 32, 2)
h = layers.GlobalAveragePooling2D()(h)
model = keras.Model(inp, layers.Dense(4)(h))

EPOCHS, BATCH = 6, 40
steps = EPOCHS * len(x_train) // BATCH
schedule = keras.optimizers.schedules.CosineDecay(1e-4, steps - 30, warmup_target=4e-3, warmup_steps=30)
optimizer = keras.optimizers.AdamW(schedule, weight_decay=1e-2)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_ds = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1200, seed=0).batch(BATCH)
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(200)
train_loss, val_acc = keras.metrics.Mean(), keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)


for epoch in range(EPOCHS):
    train_loss.reset_state()
    val_acc.reset_state()
    for xb, yb in train_ds:
        train_step(xb, yb)
    for xb, yb in val_ds:
        val_acc.update_state(yb, model(xb, training=False))
    print(f"epoch {epoch} loss {train_loss.result():.4f} val_acc {val_acc.result():.4f}")
print(f"RESULT accuracy {float(val_acc.result()):.4f}")
