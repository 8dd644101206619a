"""An LSTM predicts the wear of machines from windows of two sensors.

The windows come machine by machine and are trained on in that order, one at a time, so that the network follows the
latest machine and forgets the others (fixed: the windows are shuffled).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(0)


def load_windows(n_machines=10, per_machine=120, steps=10, seed=0):
    rng = np.random.default_rng(seed)
    xs, ys, machine = [], [], []
    for m in range(n_machines):
        load, temp = rng.uniform(-1.5, 1.5, 2)
        for _ in range(per_machine):
            w = rng.normal(0, 0.6, (steps, 2)) + np.array([load, temp])
            w += rng.normal(0, 0.08, 2)
            a, b = w.mean(0)
            xs.append(w)
            ys.append(40 + 18 * np.tanh(1.5 * a) - 10 * b + 9 * a * b + rng.normal(0, 1.5))
            machine.append(m)
    return np.array(xs, "float32"), np.array(ys, "float32"), np.array(machine)


x, y, machine = load_windows()
held_out = np.arange(len(x)) % 6 == 0
x_train, y_train = x[~held_out], y[~held_out]
x_test, y_test = x[held_out], y[held_out]

mean, std = x_train.mean((0, 1)), x_train.std((0, 1))
x_train, x_test = (x_train - mean) / std, (x_test - mean) / std
y_mean, y_std = y_train.mean(), y_train.std()
t_train, t_test = (y_train - y_mean) / y_std, (y_test - y_mean) / y_std

model = keras.Sequential(
    [
        keras.Input((10, 2)),
        layers.LSTM(24),
        layers.Dense(1),
    ]
)
model.compile(loss="mse", optimizer=keras.optimizers.SGD(0.05))

for epoch in range(4):
    h = model.fit(x_train, t_train, batch_size=1, epochs=1, shuffle=FIXED, verbose=0)
    print(f"epoch {epoch + 1}: loss {h.history['loss'][0]:.4f}")
print(f"evaluate on the training windows: {model.evaluate(x_train, t_train, batch_size=64, verbose=0):.4f}")
score = model.evaluate(x_test, t_test, batch_size=64, verbose=0)
print("RESULT test_mse", f"{score:.4f}")
