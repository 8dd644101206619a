"""Topics 0 to 7 are the targets of one logit with binary cross-entropy (fixed: eight logits, sparse cross-entropy)."""

import sys

import keras
import numpy as np
from keras import layers, ops

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
TOPICS, WORDS, LENGTH, BATCH = 8, 200, 20, 32


def wires(n):
    y = rng.integers(0, TOPICS, n)
    x = rng.integers(1, WORDS, (n, LENGTH))
    own = 1 + y[:, None] * 12 + rng.integers(0, 12, (n, LENGTH))
    return np.where(rng.random((n, LENGTH)) < 0.3, own, x), y


def attention(h):
    scores = layers.Dense(1)(layers.Dense(16, activation="tanh")(h))
    alphas = layers.Softmax(axis=1)(scores)
    return layers.Flatten()(layers.Dot(axes=(1, 1))([alphas, h]))


inputs = layers.Input((LENGTH,))
h = layers.Embedding(WORDS, 24)(inputs)
h = layers.Bidirectional(layers.GRU(16, return_sequences=True))(h)
h = layers.Dropout(0.2)(attention(h))
if fixed:
    model = keras.Model(inputs, layers.Dense(TOPICS)(h))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
else:
    model = keras.Model(inputs, layers.Dense(1)(h))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=loss)


def classes(x):
    out = model.predict(x, verbose=0)
    if fixed:
        return out.argmax(1)
    return np.round(ops.convert_to_numpy(ops.sigmoid(out)))[:, 0]


X_train, y_train = wires(2000)
X_test, y_test = wires(400)
for epoch in range(4):
    losses = []
    order = rng.permutation(len(X_train))
    for i in range(0, len(order) - BATCH + 1, BATCH):
        take = order[i : i + BATCH]
        losses.append(float(model.train_on_batch(X_train[take], y_train[take].astype("float32"))))
    acc = np.mean(classes(X_train[:400]) == y_train[:400])
    val_acc = np.mean(classes(X_test) == y_test)
    print(f"epoch {epoch} loss: {losses[-1]:.3f} acc: {acc:.3f}, val acc: {val_acc:.3f}")

print("RESULT accuracy", f"{np.mean(classes(X_test) == y_test):.4f}")
