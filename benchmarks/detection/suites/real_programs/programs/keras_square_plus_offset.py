"""y = b + x squared is fitted by layers without any activation, a linear function (fixed: ReLU)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

samples = 200
x = rng.uniform(-2, 2, samples)
b = rng.uniform(-1, 1, samples)
data = np.stack([x, b], axis=1).astype("float32")
labels = (b + x**2).astype("float32")[:, None]
cut = int(0.75 * samples)

activation = "relu" if fixed else None

model = Sequential()
model.add(Input((2,)))
model.add(Dense(64, activation=activation))
model.add(Dense(64, activation=activation))
model.add(Dense(32, activation=activation))
model.add(Dense(1))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.01))
h = model.fit(
    data[:cut], labels[:cut], epochs=150, batch_size=32, verbose=0, validation_data=(data[cut:], labels[cut:])
)
for e in range(0, 150, 25):
    print(f"epoch {e} loss {h.history['loss'][e]:.4f} val_loss {h.history['val_loss'][e]:.4f}")
p = model.predict(data[cut:], verbose=0)
t = labels[cut:]

print("RESULT r2", f"{1 - np.mean((p - t) ** 2) / t.var():.4f}")
