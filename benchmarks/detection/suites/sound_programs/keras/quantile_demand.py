"""Quantile regression (10 %, 50 %, 90 %) for hourly bike demand with a pinball loss."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
n = 6000
hour = rng.integers(0, 24, n)
weekday = rng.integers(0, 7, n)
temp = rng.normal(15, 8, n)
rain = (rng.random(n) < 0.2).astype(float)
peak = np.exp(-(((hour - 8) / 2.0) ** 2)) + 1.2 * np.exp(-(((hour - 17.5) / 2.5) ** 2))
base = 40 + 220 * peak * np.where(weekday < 5, 1.0, 0.5) + 3.0 * (temp - 15)
base = np.maximum(base * (1 - 0.4 * rain), 5)
demand = np.maximum(base + rng.normal(0, 1, n) * (8 + 0.15 * base), 0)

X = np.stack(
    [
        np.sin(2 * np.pi * hour / 24),
        np.cos(2 * np.pi * hour / 24),
        np.sin(4 * np.pi * hour / 24),
        np.cos(4 * np.pi * hour / 24),
        (weekday >= 5).astype(float),
        temp,
        rain,
    ],
    1,
).astype("float32")
X_train, X_val, X_test = X[:4200], X[4200:5000], X[5000:]
y_mean, y_std = demand[:4200].mean(), demand[:4200].std()
y = ((demand - y_mean) / y_std).astype("float32")[:, None]
y_train, y_val, y_test = y[:4200], y[4200:5000], y[5000:]

QUANTILES = tf.constant([0.1, 0.5, 0.9])


def pinball(y_true, y_pred):
    err = y_true - y_pred
    return tf.reduce_mean(tf.maximum(QUANTILES * err, (QUANTILES - 1.0) * err), axis=-1)


norm = layers.Normalization()
norm.adapt(X_train)
model = keras.Sequential(
    [
        keras.Input((7,)),
        norm,
        layers.Dense(64, activation="swish"),
        layers.Dense(64, activation="swish"),
        layers.Dense(3),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=pinball)
model.fit(
    X_train,
    y_train,
    batch_size=64,
    epochs=30,
    validation_data=(X_val, y_val),
    verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)],
)

q = model.predict(X_test, verbose=0)
print(f"coverage of the 10-90 band: {np.mean((y_test[:, 0] > q[:, 0]) & (y_test[:, 0] < q[:, 2])):.3f}")
const = np.quantile(y_train, [0.1, 0.5, 0.9])[None].astype("float32") + 0 * q
print(f"trivial pinball {float(tf.reduce_mean(pinball(y_test, const))):.4f}")
print(f"RESULT pinball {float(tf.reduce_mean(pinball(y_test, q))):.4f}")
