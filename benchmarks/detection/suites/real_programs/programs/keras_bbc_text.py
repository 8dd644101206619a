"""News texts are sorted into five categories, whose labels were made by a tokenizer.

The tokenizer counts from 1 to 5 but the softmax has classes 0 to 4, so the loss becomes NaN (fixed: 1 is subtracted).
"""

import sys

import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

names = ["sport", "business", "politics", "tech", "entertainment"]
vocab_size, max_length = 1000, 60
zipf = 1.0 / np.arange(1, 701)
zipf /= zipf.sum()
texts, labels = [], []
for _ in range(1500):
    k = int(rng.choice(5, p=[0.23, 0.23, 0.19, 0.18, 0.17]))
    words = rng.choice(np.arange(2, 702), max_length, p=zipf)
    own = 702 + 55 * k + rng.integers(0, 55, max_length)
    texts.append(np.where(rng.random(max_length) < 0.12, own, words))
    labels.append(names[k])
texts = np.array(texts)

# what Tokenizer.fit_on_texts and texts_to_sequences give
counts = {name: labels.count(name) for name in names}
word_index = {name: i + 1 for i, name in enumerate(sorted(names, key=lambda v: -counts[v]))}
label_seq = np.array([[word_index[v]] for v in labels])
print(word_index)
if fixed:
    label_seq = label_seq - 1

train_x, val_x = texts[:1200], texts[1200:]
train_y, val_y = label_seq[:1200], label_seq[1200:]

model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((max_length,)),
        tf.keras.layers.Embedding(vocab_size, 16),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(24, activation="relu"),
        tf.keras.layers.Dense(5, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"], jit_compile=True)
history = model.fit(train_x, train_y, epochs=30, validation_data=(val_x, val_y), verbose=2)
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
