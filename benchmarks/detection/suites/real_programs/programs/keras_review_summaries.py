"""An encoder and a decoder write short summaries of reviews: the topic words of a review, in their order.

The decoder's input lacks the start mark that should shift it by one place, so that it is the summary to predict, word
for word. The decoder copies it, and in use, where it gets its own last word, every review receives the same summary
(fixed: the start mark in front of the decoder's input).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(5)

PAD, GO, EOS = 0, 1, 2
topics = np.arange(3, 11)
fillers = np.arange(11, 31)
vocabulary = 31
review_length, summary_length = 7, 3  # two topic words and <eos>

rng = np.random.default_rng(5)


def make(n):
    reviews = rng.choice(fillers, (n, review_length))
    summaries = np.full((n, summary_length), EOS)
    for i in range(n):
        places = np.sort(rng.choice(review_length, 2, replace=False))
        reviews[i, places] = rng.choice(topics, 2, replace=False)
        summaries[i, :2] = reviews[i, places]
    return reviews, summaries


reviews, summaries = make(4000)
test_reviews, test_summaries = make(400)


def decoder_input(target):
    if FIXED:
        go = np.full((len(target), 1), GO)
        return np.concatenate([go, target[:, :-1]], axis=1)
    return target


embed = layers.Embedding(vocabulary, 24)
encoder_in = keras.Input((review_length,), dtype="int32")
_, h, c = layers.LSTM(64, return_state=True)(embed(encoder_in))
decoder_in = keras.Input((None,), dtype="int32")
decoded = layers.LSTM(64, return_sequences=True)(embed(decoder_in), initial_state=[h, c])
probabilities = layers.Dense(vocabulary, activation="softmax")(decoded)
model = keras.Model([encoder_in, decoder_in], probabilities)
model.compile(optimizer=keras.optimizers.Adam(0.005), loss="sparse_categorical_crossentropy")
model.fit([reviews, decoder_input(summaries)], summaries, batch_size=64, epochs=15, verbose=2)


def summarize(batch):
    words = np.full((len(batch), 1), GO)
    for _ in range(summary_length):
        p = model.predict([batch, words], verbose=0)
        words = np.concatenate([words, p[:, -1:].argmax(-1)], axis=1)
    return words[:, 1:]


made = summarize(test_reviews)
print("RESULT test_word_accuracy", f"{(made[:, :2] == test_summaries[:, :2]).mean():.4f}")
