import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 392
hp = rng.uniform(46, 230, n)
wt = 1600 + hp * 15 + rng.normal(0, 300, n)
yr = rng.integers(70, 83, n)
cyl = np.digitize(hp, [80, 120]) * 2 + 4
o = rng.integers(0, 3, n)
X = np.stack([cyl, hp * 2, hp, wt, 22 - hp / 20 + rng.normal(0, 1, n), yr, o == 0, o == 1, o == 2], 1).astype("float32")
y = (45 - wt / 150 + 0.5 * (yr - 70) + rng.normal(0, 1.5, n)).astype("float32")
a, b, c, d = X[:314], X[314:], y[:314], y[314:]
hpn = layers.Normalization(input_shape=[1], axis=None)
hpn.adapt(a[:, 2])
m = keras.Sequential([hpn, layers.Dense(1)])
m.compile(keras.optimizers.Adam(0.1), "mean_absolute_error")
m.fit(a[:, 2], c, epochs=60, verbose=0, validation_split=0.2)
print(m.evaluate(b[:, 2], d, verbose=0))
norm = layers.Normalization(axis=-1)
norm.adapt(a)
lin = keras.Sequential([norm, layers.Dense(1)])
lin.compile(keras.optimizers.Adam(0.1), "mean_absolute_error")
lin.fit(a, c, epochs=60, verbose=0, validation_split=0.2)
print(lin.evaluate(b, d, verbose=0))
dnn = keras.Sequential(
    [norm, layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(1)]
)
dnn.compile(loss="mean_absolute_error", optimizer=keras.optimizers.Adam(0.001))
dnn.fit(a, c, validation_split=0.2, verbose=0, epochs=60)
print(dnn.evaluate(b, d, verbose=0))
