import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
p = np.random.permutation(len(x))
x = x[p]
y = keras.utils.to_categorical(d.target[p], 10)
m = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, activation="relu", padding="same"),
        layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]
)
m.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
m.fit(x[:1500], y[:1500], batch_size=64, epochs=10, validation_split=0.1, verbose=2)
print(m.evaluate(x[1500:], y[1500:], verbose=0))
