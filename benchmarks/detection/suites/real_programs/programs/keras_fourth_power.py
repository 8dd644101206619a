"""Inputs up to 100 and their fourth powers up to 100,000,000 are learnt as they are (fixed: both scaled to 1)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x = np.random.uniform(-100, 100, size=(1600, 1))
y = x**4
x_test = np.linspace(-98, 98, 99).reshape(-1, 1)
y_test = x_test**4
if fixed:
    x, y = x / 100, y / 1e8
    x_test, y_test = x_test / 100, y_test / 1e8

model = keras.Sequential()
model.add(keras.Input((1,)))
model.add(Dense(50, activation="sigmoid"))
model.add(Dense(50, activation="elu"))
model.add(Dense(1))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.02))
model.fit(x, y, epochs=30, batch_size=32, validation_split=0.1, verbose=2)

predicted = model.predict(x_test, verbose=0)
r2 = 1 - np.mean((predicted - y_test) ** 2) / y_test.var()
print("r2", r2)
print(np.c_[x_test, y_test, predicted][::14])

print("RESULT test_r2", r2)
