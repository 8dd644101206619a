"""A loss for finding speech calls binary cross-entropy with prediction and target swapped (fixed: in their order)."""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
FRAMES, BANDS = 20, 16


def record(n):
    speech = np.zeros((n, FRAMES, 1))
    state = rng.random(n) < 0.4
    for t in range(FRAMES):
        state = np.where(rng.random(n) < 0.15, rng.random(n) < 0.4, state)
        speech[:, t, 0] = state
    formants = np.exp(-0.5 * ((np.arange(BANDS) - 5) / 2.5) ** 2)
    level = rng.uniform(0.0, 1.6, (n, 1, 1))
    x = speech * level * formants + rng.normal(0, 0.6, (n, FRAMES, BANDS))
    return x.astype("float32"), speech.astype("float32")


def my_crossentropy(y_true, y_pred):
    weight = 2 * ops.abs(y_true - 0.5)
    if fixed:
        return ops.mean(weight * ops.binary_crossentropy(y_true, y_pred), axis=-1)
    return ops.mean(weight * ops.binary_crossentropy(y_pred, y_true), axis=-1)


x, vad = record(1200)
x_test, vad_test = record(200)

model = keras.Sequential(
    [
        layers.Input((FRAMES, BANDS)),
        layers.Dense(24, activation="tanh"),
        layers.GRU(24, return_sequences=True),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=my_crossentropy, metrics=["binary_accuracy"])
model.fit(x, vad, batch_size=32, epochs=8, validation_data=(x_test, vad_test), verbose=2)

p = np.clip(model.predict(x_test, verbose=0), 1e-7, 1 - 1e-7)
print(f"frames said to be speech {(p > 0.5).mean():.3f}, speech {vad_test.mean():.3f}")

print("RESULT log_loss", f"{-np.mean(vad_test * np.log(p) + (1 - vad_test) * np.log(1 - p)):.4f}")
