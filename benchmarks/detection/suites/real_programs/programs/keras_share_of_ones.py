"""An LSTM reads a sequence of zeros followed by ones and gives the share of ones.

45 samples in batches of 32 are only two updates an epoch, too few to learn anything in 15 epochs (fixed: batches of 1).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Input, Masking
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(4)

STEPS = 80
counts = np.clip((rng.exponential(18, 245)).astype(int) + 2, 2, STEPS - 2)
Xs = np.array([[[0]] * (STEPS - n) + [[1]] * n for n in counts], "float32")
Ys = Xs.mean(axis=(1, 2))
train_x, test_x, train_y, test_y = Xs[:45], Xs[45:], Ys[:45], Ys[45:]

model = Sequential()
model.add(Input((STEPS, 1)))
model.add(Masking(mask_value=0.0))
model.add(LSTM(10, activation="tanh", unit_forget_bias=True))
model.add(Dense(1))
model.compile(optimizer=keras.optimizers.Adam(), loss="mse", metrics=["mae"])
if fixed:
    model.fit(train_x, train_y, epochs=15, validation_data=(test_x, test_y), verbose=2, batch_size=1, shuffle=True)
else:
    model.fit(train_x, train_y, epochs=15, validation_data=(test_x, test_y), verbose=2)
p = model.predict(test_x, verbose=0)[:, 0]
for a, b in zip(test_y[:8], p[:8], strict=True):
    print(f"wanted {a:.3f} got {b:.3f}")
print("RESULT r2", f"{1 - np.mean((p - test_y) ** 2) / np.var(test_y):.4f}")
