"""A network learns descriptors of places from triplets, which a data set draws anew for each epoch.

A triplet is a view, another view of the same place and a view of another place. Keras never calls the method
``on_epoch_start`` of the data set, so the same few triplets come in all epochs (fixed: the method is called
``on_epoch_end``).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SIZE, BATCH, EPOCHS = 8, 16, 60

places = rng.normal(0, 0.6, (400, SIZE, SIZE))
lights = rng.normal(0, 1.0, (6, SIZE, SIZE))


def view(place):
    light = np.tensordot(rng.normal(0, 0.6, len(lights)), lights, 1)
    return (place + light + rng.normal(0, 0.15, (SIZE, SIZE))).astype("float32")[..., None]


train_places, test_places = places[:300], places[300:]


class PlaceSequence(keras.utils.PyDataset):
    def __init__(self, n_samples, **kwargs):
        super().__init__(**kwargs)
        self.n_samples = n_samples
        self.load()

    def load(self):
        triplets = []
        for _ in range(self.n_samples):
            here, there = rng.choice(len(train_places), 2, replace=False)
            triplets.append([view(train_places[here]), view(train_places[here]), view(train_places[there])])
        self.triplets = np.array(triplets)

    def __len__(self):
        return self.n_samples // BATCH

    def __getitem__(self, i):
        batch = self.triplets[i * BATCH : (i + 1) * BATCH]
        return batch, np.zeros(len(batch), "float32")

    if FIXED:

        def on_epoch_end(self):
            self.load()
    else:

        def on_epoch_start(self):
            self.load()


describe = keras.Sequential(
    [
        keras.Input((SIZE, SIZE, 1)),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(32),
        layers.UnitNormalization(),
    ]
)
inputs = keras.Input((3, SIZE, SIZE, 1))
model = keras.Model(inputs, ops.stack([describe(inputs[:, k]) for k in range(3)], axis=1))


def triplet_loss(_, d):
    near = ops.sum(ops.square(d[:, 0] - d[:, 1]), axis=-1)
    far = ops.sum(ops.square(d[:, 0] - d[:, 2]), axis=-1)
    return ops.mean(ops.maximum(near - far + 0.5, 0.0))


model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=triplet_loss)
val = np.array(
    [
        [view(test_places[i]), view(test_places[i]), view(test_places[(i + 1) % len(test_places)])]
        for i in range(len(test_places))
    ]
)
model.fit(PlaceSequence(128), epochs=EPOCHS, validation_data=(val, np.zeros(len(val))), verbose=2)

known = describe.predict(np.array([view(p) for p in test_places]), verbose=0)
query = describe.predict(np.array([view(p) for p in test_places]), verbose=0)
best = (query @ known.T).argmax(1)
print("RESULT recall_at_1", f"{(best == np.arange(len(best))).mean():.4f}")
