import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 12000
y = (rng.random(n) < 0.03).astype(int)[:, None]
x = rng.normal(size=(n, 20)) + y * rng.normal(size=20) * 0.8
x = ((x - x[:9000].mean(0)) / x[:9000].std(0)).astype("float32")
c = np.bincount(y[:9000, 0])
m = keras.Sequential(
    [
        keras.Input((20,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(1, activation="sigmoid"),
    ]
)
m.compile(
    keras.optimizers.Adam(1e-3),
    "binary_crossentropy",
    metrics=[keras.metrics.Precision(name="p"), keras.metrics.Recall(name="r")],
)
m.fit(
    x[:9000],
    y[:9000],
    batch_size=512,
    epochs=12,
    validation_data=(x[9000:], y[9000:]),
    class_weight={0: 1.0 / c[0], 1: 1.0 / c[1]},
    verbose=2,
)
