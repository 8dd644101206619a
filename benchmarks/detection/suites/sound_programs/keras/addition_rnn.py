import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
C = "0123456789+ "
rng = np.random.default_rng(0)
q = rng.integers(0, 30, (4000, 2))
Q = [f"{a}+{b}".ljust(5) for a, b in q]
A = [str(a + b).ljust(2) for a, b in q]
enc = lambda s: np.eye(len(C), dtype=bool)[[C.index(c) for c in s]]
x = np.stack([enc(s) for s in Q])
y = np.stack([enc(s) for s in A])
m = keras.Sequential(
    [
        keras.Input((5, len(C))),
        layers.LSTM(64),
        layers.RepeatVector(2),
        layers.LSTM(64, return_sequences=True),
        layers.Dense(len(C), activation="softmax"),
    ]
)
m.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(3e-3), metrics=["accuracy"])
for e in range(6):
    m.fit(x[:3600], y[:3600], batch_size=64, epochs=1, validation_data=(x[3600:], y[3600:]), verbose=2)
