"""Activity recognition from made-up 3-axis accelerometer windows: Normalization layer, GRU, early stopping."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
T = 50


def make(n):
    y = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])  # still, walk, run, stairs
    x = np.zeros((n, T, 3), "float32")
    t = np.arange(T) / 25
    for i, c in enumerate(y):
        gdir = rng.normal(0, 0.15, 3) + np.array([0, 0, 9.8])
        f = [0, rng.normal(1.8, 0.2), rng.normal(2.7, 0.25), rng.normal(1.6, 0.2)][c]
        amp = [0, rng.uniform(1, 2), rng.uniform(2, 4), rng.uniform(1, 2)][c]
        ph = rng.uniform(0, 6.28)
        x[i] = gdir + rng.normal(0, 0.9, (T, 3))
        x[i, :, 2] += amp * np.sin(2 * np.pi * f * t + ph)
        x[i, :, 0] += 0.5 * amp * np.cos(np.pi * f * t + ph)
        if c == 3:
            x[i, :, 1] += 0.5 * amp * np.sin(4 * np.pi * f * t + ph)
    return x, y


xtr, ytr = make(1500)
xva, yva = make(300)
xte, yte = make(500)
norm = layers.Normalization(axis=-1)
norm.adapt(xtr)
model = keras.Sequential(
    [
        keras.Input((T, 3)),
        norm,
        layers.GRU(32, return_sequences=True),
        layers.GRU(24),
        layers.Dropout(0.2),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(4e-3, clipnorm=1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    xtr,
    ytr,
    validation_data=(xva, yva),
    epochs=10,
    batch_size=64,
    verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True)],
)
_, acc = model.evaluate(xte, yte, verbose=0)
print("RESULT accuracy %.4f" % acc)
