import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
t = np.arange(3000)
s = np.stack(
    [
        np.sin(t / 12) + 0.1 * np.random.randn(3000),
        np.cos(t / 12) * 0.5 + 0.1 * np.random.randn(3000),
        np.random.randn(3000),
    ],
    1,
)
s = ((s - s[:2200].mean(0)) / s[:2200].std(0)).astype("float32")
mk = lambda a, b: keras.utils.timeseries_dataset_from_array(
    s[a : b - 6], s[a + 29 : b, 0:1], sequence_length=24, sampling_rate=1, batch_size=64, shuffle=a == 0
)
i = keras.Input((24, 3))
h = layers.LSTM(32)(i)
m = keras.Model(i, layers.Dense(1)(h))
m.compile(keras.optimizers.Adam(1e-3), "mse")
m.fit(
    mk(0, 2200),
    epochs=8,
    validation_data=mk(2200, 3000),
    callbacks=[keras.callbacks.EarlyStopping(patience=5)],
    verbose=2,
)
