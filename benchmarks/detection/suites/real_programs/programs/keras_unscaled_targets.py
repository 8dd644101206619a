"""A regression of prices in hundred thousands, as they are (fixed: standardised)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# flats: area, rooms, age, distance to the centre, floor
n = 2000
area = rng.uniform(30, 160, n)
rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.6, n)), 1, 7)
age = rng.uniform(0, 80, n)
distance = rng.uniform(0.5, 25, n)
floor = rng.integers(0, 10, n)
price = (2600 * area + 9000 * rooms) * np.exp(-0.04 * distance) - 700 * age + 1500 * floor + 60000
price = price + rng.normal(0, 12000, n)
x = np.stack([area, rooms, age, distance, floor], axis=1)

x_train, x_val, y_train, y_val = train_test_split(x, price, test_size=0.2, random_state=0)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)
y_mean, y_std = (y_train.mean(), y_train.std()) if fixed else (0.0, 1.0)

model = keras.Sequential(
    [
        keras.Input((5,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(
    x_train,
    (y_train - y_mean) / y_std,
    validation_data=(x_val, (y_val - y_mean) / y_std),
    batch_size=64,
    epochs=40,
    verbose=2,
)

pred = model.predict(x_val, verbose=0)[:, 0] * y_std + y_mean
r2 = 1 - np.sum((pred - y_val) ** 2) / np.sum((y_val - y_val.mean()) ** 2)
print(f"mean absolute error: {np.mean(np.abs(pred - y_val)):.0f}")
print("RESULT val_r2", r2)
