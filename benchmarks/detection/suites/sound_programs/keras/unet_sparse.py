import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
n = 240
g = np.stack(np.meshgrid(np.arange(24), np.arange(24), indexing="ij"), -1)
c = np.random.uniform(6, 18, (n, 1, 1, 2))
r = np.random.uniform(3, 6, (n, 1, 1))
dist = np.sqrt(((g[None] - c) ** 2).sum(-1))
y = np.where(dist < r - 1, 0, np.where(dist < r + 1, 2, 1))
x = ((dist < r)[..., None] * 0.7 + np.random.normal(0, 0.2, (n, 24, 24, 1))).astype("float32")
i = keras.Input((24, 24, 1))
a = layers.SeparableConv2D(16, 3, padding="same")(i)
a = layers.BatchNormalization()(a)
a = layers.Activation("relu")(a)
b = layers.MaxPooling2D(2)(a)
b = layers.Conv2D(32, 3, padding="same")(b)
b = layers.BatchNormalization()(b)
b = layers.Activation("relu")(b)
u = layers.Conv2DTranspose(16, 3, strides=2, padding="same")(b)
u = layers.add([u, a])
u = layers.Activation("relu")(u)
m = keras.Model(i, layers.Conv2D(3, 3, activation="softmax", padding="same")(u))
m.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy")
m.fit(x[:200], y[:200], epochs=10, batch_size=16, validation_data=(x[200:], y[200:]), verbose=2)
