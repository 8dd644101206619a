"""An LSTM tells which sequences start with a pulse.

Training ends after 5 epochs, 80 updates, long before the network remembers anything for ten steps (fixed: 60 epochs).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
TIME_STEPS = 10


def pulses(n):
    first = rng.random(n) < 0.5
    position = np.where(first, 0, rng.integers(1, TIME_STEPS, n))
    x = rng.normal(0, 0.1, (n, TIME_STEPS, 1))
    x[np.arange(n), position, 0] += 1
    return x.astype("float32"), first.astype("float32")[:, None]


x_train, y_train = pulses(512)
x_test, y_test = pulses(300)
epochs = 60 if FIXED else 5

model = Sequential()
model.add(Input((TIME_STEPS, 1)))
model.add(LSTM(8))
model.add(Dense(1))
model.compile(optimizer="adam", loss="mse", metrics=["mse"])
history = model.fit(x_train, y_train, epochs=epochs, batch_size=32, verbose=0)
for epoch in range(epochs // 5 - 1, epochs, epochs // 5):
    print(f"epoch {epoch + 1}: loss {history.history['loss'][epoch]:.4f}")
print("targets    ", y_test[:8, 0])
print("predictions", model.predict(x_test[:8], verbose=0)[:, 0].round(2))
mse, _ = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_mse", f"{mse:.4f}")
