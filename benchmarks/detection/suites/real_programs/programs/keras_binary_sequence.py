"""An LSTM predicts the next bit by a softmax over one unit, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

# a long string of bits; each bit depends on the three before it, with some noise
bits = [0, 1, 1]
for _ in range(6000):
    usual = 0 if sum(bits[-3:]) >= 2 else 1
    bits.append(usual if rng.random() < 0.93 else 1 - usual)
bits = np.array(bits, dtype="float32")

vec_x = np.stack([bits[i : i + 3] for i in range(len(bits) - 3)])[..., None]
vec_y = bits[3:, None]
train_x, test_x = vec_x[:5000], vec_x[5000:]
train_y, test_y = vec_y[:5000], vec_y[5000:]

net = keras.Sequential(
    [
        keras.Input((3, 1)),
        layers.LSTM(4),
        layers.Dense(1, activation="sigmoid" if fixed else "softmax"),
    ]
)
net.compile(optimizer=keras.optimizers.Adagrad(learning_rate=0.1), loss="binary_crossentropy", metrics=["accuracy"])
net.fit(train_x, train_y, batch_size=256, epochs=60, verbose=2)

loss, acc = net.evaluate(test_x, test_y, verbose=0)
print("test loss", loss, "test accuracy", acc)

print("RESULT test_acc", acc)
