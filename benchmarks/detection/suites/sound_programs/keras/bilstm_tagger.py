"""Sequence tagging of toy sentences (BIO-like names) with a BiLSTM, masked loss and sample weights by token."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
PAD, TITLE, LOC_PREP = 0, 1, 2
names = np.arange(10, 90)  # words that may be person or place
words = np.arange(90, 300)
L = 20


def sentence():
    toks, tags = [], []
    n = rng.integers(6, L - 1)
    while len(toks) < n:
        r = rng.random()
        if r < 0.12:  # "mr X Y" -> person
            k = rng.integers(1, 3)
            toks += [TITLE, *rng.choice(names, k)]
            tags += [0] + [1] * k
        elif r < 0.24:  # "in X" -> place
            toks += [LOC_PREP, rng.choice(names)]
            tags += [0, 2]
        elif r < 0.28:  # the name of something else
            toks += [rng.choice(words), rng.choice(names)]
            tags += [0, 0]
        else:
            toks.append(rng.choice(words))
            tags.append(0)
    tags = [int(rng.integers(0, 3)) if rng.random() < 0.03 else g for g in tags]  # slips of the annotators
    return toks[:L], tags[:L]


def make(n):
    x, y, w = np.zeros((n, L), "int32"), np.zeros((n, L), "int32"), np.zeros((n, L), "float32")
    for i in range(n):
        a, b = sentence()
        x[i, : len(a)], y[i, : len(a)], w[i, : len(a)] = a, b, 1
    return x, y, w


xtr, ytr, wtr = make(1500)
xte, yte, wte = make(300)
model = keras.Sequential(
    [
        keras.Input((L,), dtype="int32"),
        layers.Embedding(300, 24),
        layers.SpatialDropout1D(0.1),
        layers.Bidirectional(layers.LSTM(24, return_sequences=True)),
        layers.Dense(3),
    ]
)
model.compile(keras.optimizers.RMSprop(3e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(xtr, ytr, sample_weight=wtr, validation_data=(xte, yte, wte), batch_size=32, epochs=7, verbose=2)
p = model.predict(xte, verbose=0).argmax(-1)
m = wte > 0
ent = m & (yte > 0)
prec = np.mean(yte[m & (p > 0)] == p[m & (p > 0)])
rec = np.mean(p[ent] == yte[ent])
print("precision %.3f recall %.3f" % (prec, rec))
print("RESULT entity_f1 %.4f" % (2 * prec * rec / (prec + rec)))
