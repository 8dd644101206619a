"""A small dense network predicts prices of houses from a table.

The test rows are scaled by a scaler of their own (fixed: they go through the scaler of the training rows).
"""

import sys

import keras
import numpy as np
import pandas as pd
from keras import layers
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(30)
rng = np.random.default_rng(30)


def houses(n, new_suburb=False):
    rooms = rng.normal(7.4 if new_suburb else 6.0, 0.45 if new_suburb else 0.8, n)
    age = np.clip(rng.normal(12 if new_suburb else 60, 6 if new_suburb else 25, n), 0, 120)
    crime = rng.exponential(0.4 if new_suburb else 3.0, n)
    distance = rng.gamma(4, 1.6 if new_suburb else 0.9, n)
    lstat = np.clip(rng.normal(5 if new_suburb else 13, 1.5 if new_suburb else 5, n), 1, 40)
    tax = rng.normal(250 if new_suburb else 410, 20 if new_suburb else 120, n)
    price = (
        6 * (rooms - 6)
        + 21
        - 0.04 * (age - 60)
        - 0.3 * np.minimum(crime, 15)
        - 0.5 * (lstat - 13)
        + 0.06 * (13 - lstat) * (rooms - 6)
        - 0.005 * (tax - 410)
        + 0.4 * distance
    )
    return pd.DataFrame(
        {"rooms": rooms, "age": age, "crime": crime, "dist": distance, "lstat": lstat, "tax": tax}
    ), price + rng.normal(0, 1.2, n)


old, prices_old = houses(1100)
new, prices_new = houses(300, True)
train = pd.concat([old, new[:150]])
y_train = np.concatenate([prices_old, prices_new[:150]])
x_test, y_test = new[150:], prices_new[150:]  # houses sold last month
order = rng.permutation(len(train))
train, y_train = train.iloc[order], y_train[order]

scaler = StandardScaler()
x_train = scaler.fit_transform(train)

model = keras.Sequential(
    [
        layers.Input((6,)),
        layers.Dense(10, activation="relu"),
        layers.Dense(10, activation="relu"),
        layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
model.fit(x_train, y_train, epochs=40, batch_size=32, validation_split=0.15, verbose=2)

if fixed:
    predicted = model.predict(scaler.transform(x_test), verbose=0)[:, 0]
else:
    predicted = model.predict(scaler.fit_transform(x_test), verbose=0)[:, 0]
print(f"MSE: {mean_squared_error(y_test, predicted):f}   R2: {r2_score(y_test, predicted):f}")
print("RESULT test_rmse", f"{np.sqrt(mean_squared_error(y_test, predicted)):.4f}")
