"""An LSTM says how long an engine will last, from windows of sensor readings.

Readings of up to 9000 go in without scaling, and gradients explode (fixed: readings standardised, and gradients
clipped).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(10)

LEVEL = np.array([642, 1589, 1406, 554, 2388, 9060, 47.4, 521, 2388, 8138, 8.43, 392, 38.9, 23.3])
SPREAD = np.array([0.5, 6, 9, 0.9, 0.07, 22, 0.27, 0.74, 0.07, 19, 0.04, 1.5, 0.18, 0.11])
SIGN = rng.choice([-1, 1], 14)
WINDOW = 30


def engine():
    life = rng.integers(130, 230)
    age = np.arange(life)
    wear = np.exp((age - life) / 30.0)
    sensors = LEVEL + SPREAD * (2.5 * SIGN * wear[:, None] + 0.6 * rng.normal(size=(life, 14)))
    return sensors, np.minimum(life - age - 1, 125)


def windows(engines):
    xs, ys = [], []
    for s, rul in engines:
        for i in range(WINDOW, len(s), 5):
            xs.append(s[i - WINDOW : i])
            ys.append(rul[i - 1])
    return np.array(xs, "float32"), np.array(ys, "float32")


train, test = [engine() for _ in range(40)], [engine() for _ in range(15)]
if fixed:
    scaler = StandardScaler().fit(np.concatenate([s for s, _ in train]))
    train = [(scaler.transform(s), r) for s, r in train]
    test = [(scaler.transform(s), r) for s, r in test]
X_train, y_train = windows(train)
X_test, y_test = windows(test)

model = Sequential(
    [
        Input((WINDOW, 14)),
        LSTM(48, activation="relu", return_sequences=True),
        LSTM(24, activation="relu"),
        Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(0.001, clipvalue=1.0) if fixed else keras.optimizers.Adam(0.001)
model.compile(optimizer=optimizer, loss="mse")
model.fit(X_train, y_train, epochs=15, batch_size=32, verbose=2, validation_data=(X_test, y_test))
print("RESULT test_rmse", f"{np.sqrt(model.evaluate(X_test, y_test, verbose=0)):.3f}")
