import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_diabetes

keras.utils.set_random_seed(0)
d = load_diabetes()
p = np.random.permutation(442)
X, y = d.data[p], d.target[p] / 10
X = (X - X.mean(0)) / X.std(0)


def build():
    m = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(1)])
    m.compile("rmsprop", "mse", metrics=["mae"])
    return m


k, n = 3, 147
s = []
for i in range(k):
    v = slice(i * n, (i + 1) * n)
    t = np.r_[0 : i * n, (i + 1) * n : 442]
    m = build()
    m.fit(X[t], y[t], epochs=25, batch_size=16, verbose=0)
    s.append(m.evaluate(X[v], y[v], verbose=0)[1])
print(s)
