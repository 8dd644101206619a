import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
X = (load_digits().data / 8.0 - 1).astype("float32")
opt = lambda: keras.optimizers.Adam(2e-4, 0.5)
D = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(128),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(64),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(1, activation="sigmoid"),
    ]
)
D.compile("adam", "binary_crossentropy", metrics=["accuracy"])
G = keras.Sequential(
    [
        keras.Input((16,)),
        layers.Dense(64),
        layers.LeakyReLU(negative_slope=0.2),
        layers.BatchNormalization(momentum=0.8),
        layers.Dense(128),
        layers.LeakyReLU(negative_slope=0.2),
        layers.BatchNormalization(momentum=0.8),
        layers.Dense(64, activation="tanh"),
    ]
)
z = keras.Input((16,))
D.trainable = False
comb = keras.Model(z, D(G(z)))
comb.compile(opt(), "binary_crossentropy")
D.trainable = True
D.compile(opt(), "binary_crossentropy", metrics=["accuracy"])
for e in range(120):
    i = np.random.randint(0, len(X), 32)
    g = G.predict(np.random.normal(0, 1, (32, 16)), verbose=0)
    d1 = D.train_on_batch(X[i], np.ones((32, 1)))
    d2 = D.train_on_batch(g, np.zeros((32, 1)))
    l = comb.train_on_batch(np.random.normal(0, 1, (32, 16)), np.ones((32, 1)))
    if e % 30 == 0:
        print(e, d1, d2, l)
