import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
i = np.isin(d.target, [3, 8])
x = np.repeat(np.repeat(d.images[i], 3, 1), 3, 2)[..., None].astype("float32") * 16
y = (d.target[i] == 8).astype(int)
m = keras.Sequential(
    [
        keras.Input((24, 24, 1)),
        layers.RandomRotation(0.03),
        layers.RandomZoom(0.05),
        layers.Rescaling(1.0 / 255),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(1, activation="sigmoid"),
    ]
)
m.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
m.fit(x[:280], y[:280], epochs=20, batch_size=16, validation_data=(x[280:], y[280:]), verbose=2)
