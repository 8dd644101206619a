"""A U-net with batch normalisation, and validation that jumps (fixed: momentum 0.9 rather than the default 0.99)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
images = rng.normal(0.3, 0.25, (500, 16, 16, 1)).astype("float32")
masks = np.zeros((500, 16, 16, 1), "float32")
rows, columns = np.indices((16, 16))
for image, mask in zip(images, masks, strict=True):
    (y, x), radius = rng.uniform(4, 12, 2), rng.uniform(2, 5)
    mask[(rows - y) ** 2 + (columns - x) ** 2 < radius**2] = 1
    image[...] += 0.4 * mask


def conv(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9 if fixed else 0.99)(x)
    return layers.Activation("relu")(x)


inputs = keras.Input((16, 16, 1))
down1 = conv(conv(inputs, 16), 16)
down2 = conv(conv(layers.MaxPooling2D()(down1), 32), 32)
middle = conv(layers.MaxPooling2D()(down2), 32)
up2 = conv(layers.Concatenate()([layers.UpSampling2D()(middle), down2]), 32)
up1 = conv(layers.Concatenate()([layers.UpSampling2D()(up2), down1]), 16)
model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(up1))
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy")
history = model.fit(
    images[:400], masks[:400], batch_size=16, epochs=4, validation_data=(images[400:], masks[400:]), verbose=0
)
print("RESULT loss", history.history["val_loss"][-1])
