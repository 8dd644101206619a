import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 2500
lens = rng.integers(10, 40, n)
x = np.zeros((n, 40), int)
y = rng.integers(0, 2, n)
for i in range(n):
    x[i, : lens[i]] = np.where(
        rng.random(lens[i]) < 0.15, rng.integers(1, 50, lens[i]) + 50 * y[i], rng.integers(101, 500, lens[i])
    )
m = keras.Sequential(
    [
        keras.Input((None,), dtype="int64"),
        layers.Embedding(500, 32),
        layers.Dropout(0.3),
        layers.Conv1D(32, 5, padding="valid", activation="relu"),
        layers.GlobalMaxPooling1D(),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(1, activation="sigmoid"),
    ]
)
m.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
m.fit(x[:2000], y[:2000], validation_data=(x[2000:], y[2000:]), epochs=5, batch_size=32, verbose=2)
