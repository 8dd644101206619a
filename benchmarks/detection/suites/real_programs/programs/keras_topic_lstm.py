"""An LSTM sorts short texts into 19 topics.

Each text has one topic, but each output is a sigmoid under a binary cross-entropy. Most of its loss and accuracy is
about the 18 topics that a text does not have (fixed: a softmax, with categorical cross-entropy and accuracy).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, BatchNormalization, Dense, Dropout, Embedding, Input
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

nb_classes, nb_words, max_len = 19, 600, 16


def make_texts(n):
    labels = rng.integers(0, nb_classes, n)
    texts = rng.integers(nb_classes * 20, nb_words, (n, max_len))
    topical = rng.random((n, max_len)) < 0.3
    words = labels[:, None] * 20 + rng.integers(0, 20, (n, max_len))
    stray = rng.integers(0, nb_classes * 20, (n, max_len))
    words = np.where(rng.random((n, max_len)) < 0.25, stray, words)
    return np.where(topical, words, texts), labels


train_data, train_labels = make_texts(6000)
test_data, test_labels = make_texts(1500)
ytrain_enc = keras.utils.to_categorical(train_labels, nb_classes)
ytest_enc = keras.utils.to_categorical(test_labels, nb_classes)

model = Sequential(
    [
        Input((max_len,)),
        Embedding(nb_words, 32),
        LSTM(32),
        Dropout(0.2),
        BatchNormalization(momentum=0.9),
        Dense(64, activation="relu"),
        Dropout(0.2),
        BatchNormalization(momentum=0.9),
        Dense(nb_classes, activation="softmax" if FIXED else "sigmoid"),
    ]
)
model.compile(
    loss="categorical_crossentropy" if FIXED else "binary_crossentropy",
    optimizer="adam",
    metrics=["categorical_accuracy" if FIXED else "binary_accuracy"],
)
model.fit(train_data, ytrain_enc, validation_data=(test_data, ytest_enc), epochs=4, batch_size=64, verbose=2)

loss, acc = model.evaluate(test_data, ytest_enc, verbose=0)
print(f"evaluate: loss {loss:.4f} acc {acc:.4f}")
predicted = model.predict(test_data, verbose=0).argmax(axis=1)
print("RESULT test_class_accuracy", f"{np.mean(predicted == test_labels):.4f}")
