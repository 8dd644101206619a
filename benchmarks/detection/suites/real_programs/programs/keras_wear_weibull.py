"""A recurrent network predicts the seconds until a machine fails, as a Weibull distribution.

The likelihood of the discrete Weibull distribution takes log(exp(h1 - h0) - 1). Where the two hazards differ by less
than a float can tell, this is log(0), and the weights become NaN (fixed: a small constant is added before the
logarithm).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
STEPS, HORIZON = 20, 120


def machines(n):
    x, times, seen = [], [], []
    for _ in range(n):
        left = rng.integers(0, HORIZON)
        rate = rng.uniform(0.8, 1.2)
        wear = 1 - (left + np.arange(STEPS)[::-1]) / (HORIZON + STEPS)
        heat = wear**2 * rate + rng.normal(0, 0.05, STEPS)
        noise = wear + 0.5 * rng.normal(0, 0.1, STEPS)
        load = rng.normal(0, 0.3, STEPS)
        x.append(np.stack([heat, noise, load], 1))
        if rng.random() < 0.01:  # broken by accident
            left = rng.integers(0, 3)
        cut = rng.random() < 0.15
        seconds = left * 86400 + rng.integers(0, 86400)
        times.append(seconds * rng.uniform(0.3, 1) // 1 if cut else seconds)
        seen.append(0.0 if cut else 1.0)
    return np.array(x, "float32"), np.stack([times, seen], 1).astype("float32")


x_train, y_train = machines(2400)
x_test, y_test = machines(800)
start = float(y_train[:, 0].mean())


def weibull_loglik(y_true, ab):
    y, u = y_true[:, 0], y_true[:, 1]
    a, b = ab[:, 0], ab[:, 1]
    hazard0 = ops.power((y + 1e-9) / a, b)
    hazard1 = ops.power((y + 1.0) / a, b)
    difference = ops.exp(hazard1 - hazard0) - 1.0
    if FIXED:
        difference = difference + keras.config.epsilon()
    return -(u * ops.log(difference) - hazard1)


def output_alpha_beta(z):
    a = start * ops.exp(ops.clip(z[:, 0:1], -5.0, 3.0))
    b = 8.0 * ops.sigmoid(z[:, 1:2] - 1.5)
    return ops.concatenate([a, b], axis=1)


model = keras.Sequential(
    [
        keras.Input((STEPS, 3)),
        layers.GRU(24),
        layers.Dense(2),
        layers.Lambda(output_alpha_beta),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.005, clipnorm=1.0), loss=weibull_loglik)
model.fit(x_train, y_train, batch_size=64, epochs=9, verbose=2)

a, b = model.predict(x_test, verbose=0).T
median = a * np.log(2) ** (1 / b)
known = y_test[:, 1] == 1
close = np.abs(median - y_test[:, 0])[known] < 12 * 86400
print("RESULT share_within_12_days", f"{close.mean():.4f}")
