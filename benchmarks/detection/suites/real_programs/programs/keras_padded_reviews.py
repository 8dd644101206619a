"""An LSTM tells good reviews from bad ones, which are padded lists of word indices.

The last layer is a softmax over one unit, so the output is always 1 (fixed: a sigmoid).
"""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense, Embedding, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
rng = np.random.RandomState(5)

vocab_size, sentence_len_max, n = 2000, 40, 2400
good, bad = np.arange(50, 130), np.arange(130, 210)
y = np.tile([0, 1], n // 2)
rng.shuffle(y)
term_idx = np.zeros((n, sentence_len_max), "int32")
for i in range(n):
    length = rng.randint(20, sentence_len_max + 1)
    words = rng.randint(210, vocab_size, size=length)
    own, other = (good, bad) if y[i] else (bad, good)
    k = rng.randint(5, 9)
    pos = rng.permutation(length)[: k + 2]
    words[pos[:k]] = rng.choice(own, k)
    words[pos[k:]] = rng.choice(other, 2)
    term_idx[i, -length:] = words
y = y.astype("float32")
x_train, x_test, y_train, y_test = term_idx[:2000], term_idx[2000:], y[:2000], y[2000:]

model = Sequential()
model.add(Input((sentence_len_max,)))
model.add(Embedding(input_dim=vocab_size, output_dim=16, mask_zero=True))
model.add(LSTM(units=16))
model.add(Dense(1, activation="sigmoid" if fixed else "softmax"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.summary()
model.fit(x=x_train, y=y_train, epochs=8, batch_size=32, validation_split=0.1, verbose=2)

print("RESULT test_accuracy", f"{model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
