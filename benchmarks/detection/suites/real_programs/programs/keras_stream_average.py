"""An LSTM is to average the last three numbers of a stream that is reshaped to samples of a single step.

It never sees the two numbers before (fixed: windows of three steps).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

stream = np.random.randint(0, 10, size=(1000,))
target = [stream[0], (stream[0] + stream[1]) / 2]
target.extend((stream[i - 2] + stream[i - 1] + stream[i]) / 3 for i in range(2, len(stream)))
target = np.asarray(target, dtype="float32")

if fixed:
    padded = np.concatenate([[stream[0]] * 2, stream])
    x = np.stack([padded[i : i + 3] for i in range(len(stream))]).reshape(len(stream), 3, 1)
else:
    x = np.reshape(stream, (stream.shape[0], 1, 1))
x = x.astype("float32")

cut = 800
model = keras.Sequential(
    [
        keras.Input(shape=x.shape[1:]),
        layers.LSTM(16),
        layers.Dense(1, activation="linear"),
    ]
)
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.01))
model.fit(x[:cut], target[:cut], validation_data=(x[cut:], target[cut:]), epochs=60, batch_size=16, verbose=2)
mse = model.evaluate(x[cut:], target[cut:], verbose=0)
print("RESULT mse", f"{mse:.4f}")
