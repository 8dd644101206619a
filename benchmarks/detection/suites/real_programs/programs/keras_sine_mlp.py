"""A network is to fit noisy points of a sine, and its hidden layer has no activation (fixed: tanh)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from keras.optimizers import Adam

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

xs = np.random.uniform(-3, 3, (400, 1))
ys = np.sin(1.5 * xs) + np.random.normal(0, 0.1, xs.shape)
xtest = np.linspace(-3, 3, 121).reshape(-1, 1)
ytest = np.sin(1.5 * xtest)

model = Sequential()
model.add(Input(shape=(1,)))
if fixed:
    model.add(Dense(10, activation="tanh"))
else:
    model.add(Dense(10))
model.add(Dense(1, activation="linear"))
model.compile(loss="mean_squared_error", optimizer=Adam(learning_rate=0.02))
hist = model.fit(xs, ys, batch_size=32, epochs=50, validation_split=0.1, verbose=0)
for e in range(0, 50, 5):
    print("epoch", e, "loss", hist.history["loss"][e], "val", hist.history["val_loss"][e])

pred = model.predict(xtest, verbose=0)
print("RESULT test_mse", f"{np.mean((pred - ytest) ** 2):.4f}")
