"""An LSTM reads sparse vectors of events, step by step, and says which of them happen at the next step.

It ends in sigmoids with binary cross-entropy. Nine tenths and more of the targets are zero and nothing makes up for
that, so it answers hardly anything but zeros (fixed: a loss of one's own in which the ones weigh more).
"""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

events, steps, total = 16, 8, 4000
follows = [rng.choice(events, 2, replace=False) for _ in range(events)]
series = np.zeros((total, events), "float32")
for t in range(1, total):
    chance = np.full(events, 0.012)
    for event in np.flatnonzero(series[t - 1]):
        chance[follows[event]] = 0.45
    series[t] = rng.random(events) < chance
x = np.stack([series[t - steps : t] for t in range(steps, total)])
y = series[steps:]
x_train, y_train, x_test, y_test = x[:3400], y[:3400], x[3400:], y[3400:]
print("share of zeros %.3f" % (1 - y_train.mean()))

weight_of_ones = (1 - y_train.mean()) / y_train.mean() / 5


def weighted_loss(y_true, y_pred):
    y_pred = ops.clip(y_pred, 1e-6, 1 - 1e-6)
    ones = weight_of_ones * y_true * ops.log(y_pred)
    zeros = (1 - y_true) * ops.log(1 - y_pred)
    return -ops.mean(ones + zeros, axis=-1)


model = keras.Sequential(
    [
        keras.Input((steps, events)),
        layers.LSTM(32),
        layers.Dense(events, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.003),
    loss=weighted_loss if fixed else "binary_crossentropy",
    metrics=["binary_accuracy"],
)
model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=12, batch_size=32, verbose=2)

predicted = model.predict(x_test, verbose=0) > 0.5
truth = y_test > 0.5
hits = (predicted & truth).sum()
print("RESULT test_f1", f"{(2 * hits / (predicted.sum() + truth.sum())):.4f}")
