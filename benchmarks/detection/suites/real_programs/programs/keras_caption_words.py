"""The next word of a caption is learnt with Adam at 2e-6, which hardly changes the weights (fixed: at 1e-3)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Concatenate, Dense, Dropout, Embedding, Input

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

# captions "start <count> <colour> <thing> <does> <where> end"
SLOTS = [6, 6, 8, 5, 5]
START, END = 1, 2
first = np.cumsum([3, *SLOTS])
vocab_size = int(first[-1])
max_length = len(SLOTS) + 1
parts = [rng.normal(size=(n, 64)) for n in SLOTS]


def make(n):
    pictures, before, after = [], [], []
    for _ in range(n):
        choice = [rng.integers(k) for k in SLOTS]
        feat = sum(p[c] for p, c in zip(parts, choice, strict=True)) / 2 + 0.2 * rng.normal(size=64)
        words = [START] + [int(f + c) for f, c in zip(first[:-1], choice, strict=True)] + [END]
        for i in range(1, len(words)):
            row = np.zeros(max_length, "int32")
            row[:i] = words[:i]  # 0 is padding
            pictures.append(np.maximum(feat, 0)), before.append(row), after.append(words[i])
    return (np.array(pictures, "float32"), np.array(before)), keras.utils.to_categorical(after, vocab_size)


def define_model(lr):
    inputs1 = Input((64,))
    fe2 = Dense(64, activation="relu")(inputs1)
    inputs2 = Input((max_length,))
    se1 = Embedding(vocab_size, 64, mask_zero=True)(inputs2)
    se2 = Dropout(0.2)(se1)
    se3 = LSTM(32)(se2)
    decoder1 = Concatenate()([fe2, se3])
    decoder2 = Dense(64, activation="relu")(decoder1)
    outputs = Dense(vocab_size, activation="softmax")(decoder2)
    model = keras.Model([inputs1, inputs2], outputs)
    model.compile(
        loss="categorical_crossentropy", metrics=["accuracy"], optimizer=keras.optimizers.Adam(learning_rate=lr)
    )
    return model


train, test = make(500), make(100)
model = define_model(1e-3 if fixed else 2e-6)
model.fit(train[0], train[1], epochs=8, batch_size=32, validation_data=test, verbose=2)
p = model.predict(test[0], verbose=0).argmax(1)
print("next words guessed:", np.bincount(p, minlength=vocab_size).tolist())

print("RESULT accuracy", f"{np.mean(p == test[1].argmax(1)):.4f}")
