"""A convolutional network over word embeddings tells two kinds of padded sentences apart.

It has an embedding of 50 numbers, 128 filters and three dense layers, with which it learns the 300 sentences by heart
(fixed: far fewer units, no hidden dense layers, dropout and L2).
"""

import sys

import keras
import numpy as np
from keras import regularizers
from keras.layers import (
    BatchNormalization,
    Conv1D,
    Dense,
    Dropout,
    Embedding,
    GlobalAveragePooling1D,
    GlobalMaxPooling1D,
)

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

max_features = 1500
maxlen = 40
tone = rng.normal(0, 1, max_features)


def make(n):
    x = np.zeros((n, maxlen), "int32")
    y = np.zeros(n)
    frequent = 1 / np.arange(3, max_features + 2)
    frequent /= frequent.sum()
    for i in range(n):
        y[i] = i % 2
        words = []
        length = rng.integers(15, maxlen + 1)
        while len(words) < length:
            w = rng.choice(np.arange(1, max_features), p=frequent)
            lean = 1 / (1 + np.exp(-(2 * y[i] - 1) * tone[w] * 0.6))
            if rng.random() < lean:
                words.append(w)
        x[i, maxlen - length :] = words
    return x, y


x_train, y_train = make(300)
x_val, y_val = make(400)

model = keras.Sequential()
model.add(keras.Input((maxlen,)))
if not fixed:
    model.add(Embedding(max_features, 50))
    model.add(Conv1D(128, 5, activation="relu"))
    model.add(GlobalMaxPooling1D())
    model.add(Dense(50, activation="relu"))
    model.add(BatchNormalization())
    model.add(Dense(50, activation="relu"))
    model.add(BatchNormalization())
    model.add(Dense(25, activation="relu"))
    model.add(BatchNormalization())
    model.add(Dense(1, activation="sigmoid"))
else:
    model.add(Embedding(max_features, 8))
    model.add(Conv1D(8, 5, activation="relu", kernel_regularizer=regularizers.l2(0.001)))
    model.add(GlobalAveragePooling1D())
    model.add(Dropout(0.3))
    model.add(Dense(1, activation="sigmoid", kernel_regularizer=regularizers.l2(0.001)))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=30, batch_size=16, validation_data=(x_val, y_val), verbose=2)

print("train_accuracy", f"{model.evaluate(x_train, y_train, verbose=0)[1]:.4f}")
loss, accuracy = model.evaluate(x_val, y_val, verbose=0)
print("val_accuracy", f"{accuracy:.4f}")
print("RESULT val_loss", f"{loss:.4f}")
