"""Poisson regression of claim counts with an exposure offset, many zeros, Adagrad, big batches."""

import numpy as np
from sklearn.metrics import mean_poisson_deviance
from tensorflow import keras

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
n = 12000
age = rng.uniform(18, 85, n)
power = rng.integers(4, 13, n)
density = rng.lognormal(5, 1.5, n)
region = rng.integers(0, 6, n)
expo = rng.uniform(0.2, 1.0, n)
reg_eff = np.array([-0.3, 0.0, 0.2, 0.5, -0.1, 0.3])
lograte = -1.3 + 0.0011 * (age - 50) ** 2 + 0.08 * (power - 7) + 0.22 * (np.log(density) - 5) + reg_eff[region]
cnt = rng.poisson(expo * np.exp(lograte)).astype("float32")
num = np.stack([age, power, np.log(density)], 1)
tr, te = np.arange(9000), np.arange(9000, n)
num = (num - num[tr].mean(0)) / num[tr].std(0)
X = np.concatenate([num, np.eye(6)[region]], 1).astype("float32")
off = np.log(expo).astype("float32")[:, None]

f, o = keras.Input((9,)), keras.Input((1,))
h = keras.layers.Dense(24, activation="softplus", kernel_initializer="glorot_normal")(f)
h = keras.layers.Dense(12, activation="softplus")(h)
start = float(np.log(cnt[tr].sum() / expo[tr].sum()))
r = keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer=keras.initializers.Constant(start))(h)
out = keras.layers.Activation("exponential")(keras.layers.Add()([r, o]))
model = keras.Model([f, o], out)
model.compile(keras.optimizers.Adagrad(0.15), loss="poisson")
model.fit([X[tr], off[tr]], cnt[tr], batch_size=250, epochs=40, validation_split=0.1, verbose=2)
p = model.predict([X[te], off[te]], verbose=0)[:, 0]
dev = mean_poisson_deviance(cnt[te], p)
null = mean_poisson_deviance(cnt[te], expo[te] * cnt[tr].sum() / expo[tr].sum())
best = mean_poisson_deviance(cnt[te], expo[te] * np.exp(lograte[te]))
print("deviance null %.4f model %.4f true rates %.4f" % (null, dev, best))
print("RESULT share_of_attainable_gain %.4f" % ((null - dev) / (null - best)))
