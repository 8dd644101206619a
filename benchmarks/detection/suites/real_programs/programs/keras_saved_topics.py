"""A network that tells the topics of short texts is trained and saved, and evaluated later from the file.

The later session numbers the words anew, in the order in which it meets them, so that the embedding looks up the wrong
rows (fixed: the numbers of the words are saved with the model and loaded).
"""

import json
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(9)
TOPICS, MAX_LEN = 6, 28
folder = tempfile.mkdtemp()


def make_texts(n, rng):
    texts, labels = [], []
    for _ in range(n):
        topic = rng.integers(TOPICS)
        words = [
            f"topic{topic}word{rng.integers(25)}" if rng.random() < 0.3 else f"common{rng.integers(150)}"
            for _ in range(rng.integers(12, MAX_LEN + 1))
        ]
        texts.append(" ".join(words))
        labels.append(topic)
    return texts, np.array(labels)


def index_words(texts):
    word_index = {}
    for text in texts:
        for word in text.split():
            if word not in word_index:
                word_index[word] = len(word_index) + 2  # 0 pads, 1 is an unknown word
    return word_index


def to_sequences(texts, word_index):
    x = np.zeros((len(texts), MAX_LEN), "int32")
    for i, text in enumerate(texts):
        ids = [word_index.get(word, 1) for word in text.split()]
        x[i, : len(ids)] = ids
    return x


def train_session(texts, labels):
    word_index = index_words(texts)
    x = to_sequences(texts, word_index)
    inp = keras.Input((MAX_LEN,), dtype="int32")
    h = layers.Embedding(400, 28)(inp)
    h = layers.Conv1D(48, 3, activation="relu")(h)
    h = layers.MaxPooling1D(3)(h)
    h = layers.Flatten()(h)
    h = layers.Dense(24, activation="relu")(h)
    h = layers.Dropout(0.2)(h)
    model = keras.Model(inp, layers.Dense(TOPICS, activation="softmax")(h))
    model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["acc"])
    model.fit(x, labels, epochs=6, batch_size=32, validation_split=0.1, verbose=2)
    model.save(os.path.join(folder, "topics.keras"))
    with open(os.path.join(folder, "words.json"), "w") as f:
        json.dump(word_index, f)


def later_session(texts, labels):
    model = keras.models.load_model(os.path.join(folder, "topics.keras"))
    if FIXED:
        with open(os.path.join(folder, "words.json")) as f:
            word_index = json.load(f)
    else:
        word_index = index_words(texts)
    return model.evaluate(to_sequences(texts, word_index), labels, verbose=0)[1]


rng = np.random.default_rng(2)
train_session(*make_texts(3000, rng))
keras.backend.clear_session()
accuracy = later_session(*make_texts(600, rng))
print("RESULT test_accuracy", f"{accuracy:.4f}")
