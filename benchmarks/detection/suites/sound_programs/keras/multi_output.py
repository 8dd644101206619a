import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 3000
a = rng.normal(size=(n, 12)).astype("float32")
b = rng.normal(size=(n, 5)).astype("float32")
w = rng.normal(size=(17, 3))
z = np.concatenate([a, b], 1)
cls = (z @ w).argmax(1)
pr = np.tanh(z @ w[:, 0] / 4)[:, None] + 0.1 * rng.normal(size=(n, 1))
i1, i2 = keras.Input((12,), name="a"), keras.Input((5,), name="b")
h = layers.Dense(64, activation="relu")(
    layers.concatenate([layers.Dense(32, activation="relu")(i1), layers.Dense(16, activation="relu")(i2)])
)
o1 = layers.Dense(1, name="priority")(h)
o2 = layers.Dense(3, name="department")(h)
m = keras.Model([i1, i2], [o1, o2])
m.compile(
    keras.optimizers.RMSprop(1e-3),
    loss={
        "priority": keras.losses.MeanSquaredError(),
        "department": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    },
    loss_weights={"priority": 1.0, "department": 0.5},
)
m.fit({"a": a, "b": b}, {"priority": pr, "department": cls}, epochs=6, batch_size=32, validation_split=0.15, verbose=2)
