"""An LSTM says where a track goes next, from sequences of position and temperature that are padded with zeros.

Coordinates around 40 are trained with softmax outputs and categorical cross entropy (fixed: linear outputs and mean
squared error).
"""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Activation, Dense, Input, Masking
from keras.models import Sequential

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(0)
keras.utils.set_random_seed(0)

max_len, n = 12, 1200
X = np.zeros((n, max_len, 3), "float32")
Y = np.zeros((n, 2), "float32")
for i in range(n):
    length = rng.randint(5, max_len + 1)
    pos = np.array([rng.uniform(35, 45), rng.uniform(35, 45)])
    step = rng.uniform(-0.4, 0.4, 2)
    rows = []
    for _ in range(length):
        rows.append([pos[0], pos[1], 20 + 0.5 * (40 - pos[0]) + rng.randn()])
        pos = pos + step + 0.03 * rng.randn(2)
    X[i, max_len - length :] = rows
    Y[i] = pos
# centre the real steps, leave the padding at zero
used = X[:, :, :1] != 0
X = np.where(used, (X - np.array([40, 40, 20])) / 4.0, 0).astype("float32")
Xtr, Ytr, Xte, Yte = X[:1000], Y[:1000], X[1000:], Y[1000:]

model = Sequential()
model.add(Input(shape=(max_len, 3)))
model.add(Masking(0.0))
model.add(LSTM(32))
if fixed:
    model.add(Dense(2))
    model.compile(loss="mse", optimizer=keras.optimizers.RMSprop(0.005))
else:
    model.add(Activation("softmax"))
    model.add(Dense(2))
    model.add(Activation("softmax"))
    model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.RMSprop(0.005))
history = model.fit(Xtr, Ytr, epochs=40, batch_size=16, verbose=0)
print("loss", history.history["loss"][0], history.history["loss"][9], history.history["loss"][-1])

pred = model.predict(Xte, verbose=0)
print(pred[:3], Yte[:3])
print("RESULT rmse_degrees", round(float(np.sqrt(np.mean((pred - Yte) ** 2))), 4))
