"""Small U-Net that segments bright cells on an uneven, noisy background (BCE + soft Dice)."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
S = 24


def sample():
    yy, xx = np.mgrid[:S, :S]
    mask = np.zeros((S, S), bool)
    for _ in range(rng.integers(2, 6)):
        cy, cx = rng.uniform(3, S - 3, 2)
        a, b = rng.uniform(2.5, 5, 2)
        mask |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
    gradient = 0.25 * (np.cos(rng.uniform(0, 6)) * (xx / S - 0.5) + np.sin(rng.uniform(0, 6)) * (yy / S - 0.5))
    img = 0.3 + gradient + mask * rng.uniform(0.2, 0.4) + rng.normal(0, 0.08, (S, S))
    return np.clip(img, 0, 1), mask


data = [sample() for _ in range(520)]
x = np.stack([d[0] for d in data])[..., None].astype("float32")
y = np.stack([d[1] for d in data])[..., None].astype("float32")
x_train, y_train, x_test, y_test = x[:420], y[:420], x[420:], y[420:]


def conv_block(t, filters):
    for _ in range(2):
        t = layers.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(t)
        t = layers.BatchNormalization(momentum=0.9)(t)
        t = layers.Activation("relu")(t)
    return t


inputs = keras.Input((S, S, 1))
c1 = conv_block(inputs, 8)
c2 = conv_block(layers.MaxPooling2D()(c1), 16)
c3 = conv_block(layers.MaxPooling2D()(c2), 32)
u2 = layers.Conv2DTranspose(16, 2, strides=2)(c3)
c4 = conv_block(layers.Concatenate()([u2, c2]), 16)
u1 = layers.Conv2DTranspose(8, 2, strides=2)(c4)
c5 = conv_block(layers.Concatenate()([u1, c1]), 8)
model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(c5))


def dice_coef(y_true, y_pred, smooth=1.0):
    inter = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    return ops.mean((2.0 * inter + smooth) / (total + smooth))


def bce_dice(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred)) + 1.0 - dice_coef(y_true, y_pred)


model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=bce_dice, metrics=[dice_coef])
model.fit(
    x_train,
    y_train,
    batch_size=16,
    epochs=12,
    validation_split=0.1,
    callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.3)],
    verbose=2,
)

p = model.predict(x_test, verbose=0) > 0.5
t = y_test > 0.5
iou = (p & t).sum() / (p | t).sum()
print(f"all-foreground iou {t.mean():.4f}")
print(f"RESULT iou {iou:.4f}")
