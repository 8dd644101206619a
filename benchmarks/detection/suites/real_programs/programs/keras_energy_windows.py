"""The target of each window is its own first hour (fixed: the hour that follows it)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# hourly load: a rhythm of days and of weeks, and noise with a memory
hours = np.arange(3000)
noise = np.zeros(3000)
for i in range(1, 3000):
    noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 0.08)
load = np.sin(2 * np.pi * hours / 24) + 0.4 * np.sin(2 * np.pi * hours / 168)
load = load + 0.3 * np.sin(4 * np.pi * hours / 24 + 1) + noise
load = ((load - load[:2400].mean()) / load[:2400].std()).astype("float32")

past = 24
train, test = load[:2400], load[2400:]


def make_dataset(series, shuffle):
    return keras.utils.timeseries_dataset_from_array(
        data=series[:-past, None],
        targets=series[past:] if fixed else series[:-past],
        sequence_length=past,
        batch_size=128,
        shuffle=shuffle,
        seed=0,
    )


train_data = make_dataset(train, shuffle=True)
val_data = make_dataset(test, shuffle=False)

model = keras.Sequential(
    [
        keras.Input(shape=(past, 1)),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(32, activation="relu"),
        layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit(train_data, validation_data=val_data, epochs=10, verbose=2)

# the hour that follows each window of the test period
windows = np.stack([test[i : i + past] for i in range(len(test) - past)])[..., None]
forecast = model.predict(windows, verbose=0).ravel()
print("RESULT forecast_mae", np.abs(forecast - test[past:]).mean())
