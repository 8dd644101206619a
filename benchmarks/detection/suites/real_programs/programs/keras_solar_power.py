"""A network predicts the output of a solar plant from eight sensors, with the root mean squared error as the objective.

The root is taken of the squared error of each sample, and its derivative at 0 is infinite. At night all inputs and the
target are 0, the network's answer is exactly 0 as well, and after that all weights are NaN (fixed: the mean squared
error as the objective).
"""

import sys

import keras
import numpy as np
from keras import layers, ops
from sklearn.preprocessing import MinMaxScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

n = 2400
hour = rng.uniform(0, 24, n)
sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
cloud = rng.beta(2, 3, n)
direct = 900 * sun * (1 - 0.8 * cloud)
sensors = np.stack(
    [direct * g + 120 * sun * cloud * rng.uniform(0.8, 1.2, n) for g in (1.0, 0.95, 0.9, 0.7, 0.5)], axis=1
)
heat = 25 * sun * (1 - 0.4 * cloud) * rng.uniform(0.7, 1.3, n)
volts = 600 * np.sqrt(sun) * rng.uniform(0.97, 1.03, n)
elevation = 60 * sun
X = np.column_stack([sensors, heat, volts, elevation])
power = 0.005 * direct * (1 - 0.012 * heat) + 0.4 * sun * cloud
power = power * rng.normal(1, 0.03, n)
X_train, X_test, y_train, y_test = X[:1900], X[1900:], power[:1900, None], power[1900:, None]

scaler = MinMaxScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)


def root_mean_squared_error(y_true, y_pred):
    return ops.sqrt(ops.mean(ops.square(y_pred - y_true), axis=-1))


model = keras.Sequential(
    [
        keras.Input((8,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mean_squared_error" if FIXED else root_mean_squared_error, metrics=["mae"])
model.fit(X_train, y_train, epochs=15, batch_size=32, validation_data=(X_test, y_test), verbose=2)

pred = model.predict(X_test, verbose=0)
print("predictions", pred[:5, 0], "true", y_test[:5, 0])
print("RESULT rmse", f"{float(np.sqrt(np.mean((pred - y_test) ** 2))):.4f}")
