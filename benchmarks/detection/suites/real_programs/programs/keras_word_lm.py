"""A language model with an LSTM learns to predict the next word of generated sentences.

Adam gets the learning rate of 1.0 in the configuration, which is far too high for it (fixed: its default, 0.001).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)


class Config:
    embedding_size = 32
    hidden_size = 64
    num_steps = 16
    batch_size = 32
    learning_rate = 0.001 if FIXED else 1.0
    epochs = 8


def generate_words(n_sentences, seed):
    rng = np.random.default_rng(seed)
    det = ["the", "a", "every", "this"]
    adj = ["old", "small", "red", "quick", "lazy", "green"]
    noun = {
        "dog": ["barks", "runs", "sleeps"],
        "bird": ["sings", "flies", "eats"],
        "car": ["stops", "starts", "turns"],
        "child": ["laughs", "plays", "cries"],
    }
    adv = ["loudly", "slowly", "often", "today"]
    words = []
    for _ in range(n_sentences):
        words.append(rng.choice(det))
        if rng.random() < 0.5:
            words.append(rng.choice(adj))
        n = rng.choice(list(noun))
        words.append(n)
        words.append(rng.choice(noun[n], p=[0.7, 0.2, 0.1]))
        if rng.random() < 0.4:
            words.append(rng.choice(adv))
        words.append(".")
    return words


def to_batches(words, vocab, steps):
    ids = np.array([vocab[w] for w in words])
    n = (len(ids) - 1) // steps
    return ids[: n * steps].reshape(n, steps), ids[1 : n * steps + 1].reshape(n, steps)


config = Config()
train_words, valid_words = generate_words(6000, 0), generate_words(1200, 1)
vocab = {w: i for i, w in enumerate(sorted(set(train_words)))}
x_train, y_train = to_batches(train_words, vocab, config.num_steps)
x_valid, y_valid = to_batches(valid_words, vocab, config.num_steps)
print(f"{len(vocab)} words, {len(x_train)} training sequences")

model = keras.Sequential(
    [
        keras.Input((config.num_steps,), dtype="int32"),
        layers.Embedding(len(vocab), config.embedding_size),
        layers.LSTM(config.hidden_size, return_sequences=True),
        layers.Dropout(0.2),
        layers.Dense(len(vocab), activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=config.learning_rate), loss="sparse_categorical_crossentropy"
)
history = model.fit(
    x_train, y_train, batch_size=config.batch_size, epochs=config.epochs, validation_data=(x_valid, y_valid), verbose=0
)
for e, (a, b) in enumerate(zip(history.history["loss"], history.history["val_loss"], strict=True)):
    print(f"epoch {e + 1}: loss {a:.4f} - val_loss {b:.4f}")
print("RESULT val_loss", f"{history.history['val_loss'][-1]:.4f}")
