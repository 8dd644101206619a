"""A network learns n * n from n up to 1,000, with neither of them scaled (fixed: both are scaled to 0..1)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)

x = np.array([[float(i)] for i in range(1001)])
y = np.array([float(i * i) for i in range(1001)])

order = np.random.permutation(len(x))
train, test = order[:800], order[800:]

x_scale, y_scale = 1.0, 1.0
if fixed:
    x_scale, y_scale = x.max(), y.max()
xs, ys = x / x_scale, y / y_scale

model = Sequential()
model.add(Input(shape=(1,)))
model.add(Dense(100, activation="relu"))
model.add(Dense(50, activation="relu"))
model.add(Dense(1))
model.compile(loss="mse", optimizer="adam")
hist = model.fit(xs[train], ys[train], epochs=30, batch_size=32, verbose=0, validation_data=(xs[test], ys[test]))
for e in range(0, 30, 5):
    print(e, hist.history["loss"][e], hist.history["val_loss"][e])

pred = model.predict(xs[test], verbose=0)[:, 0] * y_scale
for i in test[:8]:
    print(int(x[i, 0]), int(y[i]), model.predict(xs[i : i + 1], verbose=0)[0, 0] * y_scale)
rmse = np.sqrt(np.mean((pred - y[test]) ** 2))
print("RESULT rmse", f"{rmse:.1f}")
