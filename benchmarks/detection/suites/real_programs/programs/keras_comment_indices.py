"""A convolution over word embeddings tells good comments on a shop from bad ones.

Each set of comments is turned into indices of words. A tokenizer of its own is fitted for each of the three sets, so
the same word has another index in validation and test (fixed: one tokenizer for all of them).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.metrics import f1_score
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

common = [f"w{i}" for i in range(300)]
good = [f"g{i}" for i in range(60)]
bad = [f"b{i}" for i in range(60)]


def zipf(n):
    weights = 1 / np.arange(2, n + 2)
    return weights / weights.sum()


def make_comments(n):
    labels = rng.integers(0, 2, n)
    texts = []
    for label in labels:
        words = list(rng.choice(common, rng.integers(8, 20), p=zipf(300)))
        for _ in range(rng.integers(2, 5)):
            side = label if rng.random() < 0.92 else 1 - label
            words.append(rng.choice(good if side else bad, p=zipf(60)))
        rng.shuffle(words)
        texts.append(" ".join(words))
    return texts, labels


train_texts, y_train = make_comments(2500)
valid_texts, y_valid = make_comments(500)
test_texts, y_test = make_comments(500)


def to_indices(texts, tokenizer=None):
    if tokenizer is None:
        tokenizer = Tokenizer(num_words=400)
        tokenizer.fit_on_texts(texts)
    return pad_sequences(tokenizer.texts_to_sequences(texts), maxlen=25)


if fixed:
    shared = Tokenizer(num_words=400)
    shared.fit_on_texts(train_texts + valid_texts + test_texts)
else:
    shared = None
x_train = to_indices(train_texts, shared)
x_valid = to_indices(valid_texts, shared)
x_test = to_indices(test_texts, shared)

model = keras.Sequential(
    [
        keras.Input((25,)),
        layers.Embedding(400, 32),
        layers.Conv1D(32, 2, activation="relu"),
        layers.GlobalMaxPooling1D(),
        layers.Dense(32, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_valid, y_valid), epochs=5, batch_size=32, verbose=2)
predicted = model.predict(x_test, verbose=0)[:, 0] > 0.5
print("RESULT test_f1", f"{f1_score(y_test, predicted):.4f}")
