"""Character language model (one GRU layer) of generated recipe sentences, trained with train_on_batch."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
verbs = ["chop", "boil", "fry", "mix", "bake", "serve", "stir"]
foods = ["onions", "rice", "carrots", "the dough", "two eggs", "fresh basil", "the sauce", "peas"]
ends = ["for ten minutes", "with butter", "until golden", "in a pan", "gently", "with salt and pepper"]
parts = []
while sum(map(len, parts)) < 60000:
    parts.append(f"{rng.choice(verbs)} {rng.choice(foods)} {rng.choice(ends)}. ")
text = "".join(parts)
chars = sorted(set(text))
data = np.array([chars.index(c) for c in text], "int32")
cut = int(len(data) * 0.9)
T, B = 40, 32
V = len(chars)

model = keras.Sequential(
    [
        keras.Input((None,), dtype="int32"),
        layers.Embedding(V, 16),
        layers.GRU(64, return_sequences=True),
        layers.Dense(V),
    ]
)
model.compile(keras.optimizers.Adam(5e-3, clipnorm=1.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def batch(lo, hi):
    s = rng.integers(lo, hi - T - 1, B)
    idx = s[:, None] + np.arange(T + 1)
    return data[idx][:, :-1], data[idx][:, 1:]


def score():
    ls = []
    for _ in range(10):
        xb, yb = batch(cut, len(data))
        ls.append(float(model.test_on_batch(xb, yb)))
        model.reset_metrics()
    return float(np.mean(ls))


recent = []
for it in range(360):
    xb, yb = batch(0, cut)
    model.reset_metrics()
    recent.append(float(model.train_on_batch(xb, yb)))
    if it % 60 == 59:
        print("it", it + 1, "train %.4f" % np.mean(recent[-60:]), "held-out %.4f" % score())
print("uniform nats %.3f" % np.log(V))
print("RESULT heldout_perplexity %.4f" % np.exp(score()))
