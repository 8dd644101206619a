import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
t = np.arange(4000)
s = np.sin(t / 20) * 10 + 40 + np.random.randn(4000) * 2
s = (s - s.mean()) / s.std()
x = np.stack([s[i : i + 48] for i in range(3950)])[..., None].astype("float32")[::2]
m = keras.Sequential(
    [
        keras.Input((48, 1)),
        layers.Conv1D(32, 7, padding="same", strides=2, activation="relu"),
        layers.Dropout(0.2),
        layers.Conv1D(16, 7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(16, 7, padding="same", strides=2, activation="relu"),
        layers.Dropout(0.2),
        layers.Conv1DTranspose(32, 7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(1, 7, padding="same"),
    ]
)
m.compile(keras.optimizers.Adam(1e-3), "mse")
m.fit(
    x,
    x,
    epochs=10,
    batch_size=64,
    validation_split=0.1,
    callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, mode="min")],
    verbose=2,
)
