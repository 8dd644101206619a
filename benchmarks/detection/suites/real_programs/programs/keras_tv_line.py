"""A line is fitted to inputs of up to 250 by SGD at its default rate (fixed: inputs and targets are standardised)."""

import sys

import keras
import numpy as np
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

# people per television and life expectancy, one row per country
x = rng.uniform(1.3, 250, (60, 1))
y = 76 - 0.11 * x + rng.normal(0, 2.0, (60, 1))
if fixed:
    x = StandardScaler().fit_transform(x)
    y = StandardScaler().fit_transform(y)

inputs = keras.layers.Input(shape=(1,))
preds = keras.layers.Dense(1, activation="linear")(inputs)
model = keras.Model(inputs=inputs, outputs=preds)

sgd = keras.optimizers.SGD()
model.compile(optimizer=sgd, loss="mse", metrics=["mse"])
model.fit(x, y, batch_size=1, epochs=30, shuffle=False, verbose=2)

pred = model.predict(x, verbose=0)
r2 = 1 - np.mean((pred - y) ** 2) / np.var(y)
print("R2 of the line:", r2)

print("RESULT r2", r2)
