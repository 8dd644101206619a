import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
x = (load_digits().images / 16.0).astype("float32")[..., None]
noisy = np.clip(x + 0.3 * np.random.normal(size=x.shape), 0, 1).astype("float32")
i = keras.Input((8, 8, 1))
h = layers.Conv2D(32, 3, activation="relu", padding="same")(i)
h = layers.MaxPooling2D(2, padding="same")(h)
h = layers.Conv2D(32, 3, activation="relu", padding="same")(h)
h = layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(h)
o = layers.Conv2D(1, 3, activation="sigmoid", padding="same")(h)
m = keras.Model(i, o)
m.compile("adam", "binary_crossentropy")
m.fit(
    noisy[:1500], x[:1500], epochs=8, batch_size=64, shuffle=True, validation_data=(noisy[1500:], x[1500:]), verbose=2
)
