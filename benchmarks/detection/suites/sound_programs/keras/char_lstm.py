import inspect
import textwrap

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
t = inspect.getsource(textwrap)[:14000].lower()
ch = sorted(set(t))
ix = {c: i for i, c in enumerate(ch)}
s = [t[i : i + 20] for i in range(0, len(t) - 20, 3)]
nx = [t[i + 20] for i in range(0, len(t) - 20, 3)]
x = np.zeros((len(s), 20, len(ch)), dtype="bool")
y = np.zeros((len(s), len(ch)), dtype="bool")
for i, q in enumerate(s):
    for j, c in enumerate(q):
        x[i, j, ix[c]] = 1
    y[i, ix[nx[i]]] = 1
m = keras.Sequential([keras.Input((20, len(ch))), layers.LSTM(64), layers.Dense(len(ch), activation="softmax")])
m.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.RMSprop(1e-2))
for e in range(6):
    m.fit(x, y, batch_size=128, epochs=1, verbose=2)
