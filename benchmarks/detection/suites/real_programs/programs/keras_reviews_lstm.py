"""An LSTM reads dozens of fillers after each short text (fixed: ``mask_zero=True`` in the embedding)."""

import random
import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

GOOD = ["great", "wonderful", "loved", "excellent", "amazing", "perfect", "enjoyable"]
BAD = ["terrible", "boring", "hated", "awful", "poor", "disappointing", "waste"]
OTHER = ["the", "movie", "was", "a", "film", "story", "and", "acting", "plot", "it", "i", "this", "with", "really"]
OTHER += ["scene", "music", "director", "of", "in", "some"]


def review():
    label = random.randint(0, 1)
    words = [random.choice(OTHER) for _ in range(random.randint(5, 18))]
    for _ in range(random.randint(1, 3)):
        words.insert(random.randint(0, len(words)), random.choice(GOOD if label else BAD))
    return words, label


reviews = [review() for _ in range(1200)]
numbers = {word: i + 1 for i, word in enumerate(sorted({word for words, _ in reviews for word in words}))}
sequences = [[numbers[word] for word in words] for words, _ in reviews]
labels = np.array([label for _, label in reviews])

x = keras.utils.pad_sequences(sequences, maxlen=80, padding="post")
x_train, x_test, y_train, y_test = x[:900], x[900:], labels[:900], labels[900:]

model = keras.Sequential(
    [
        layers.Embedding(len(numbers) + 1, 16, mask_zero=fixed),
        layers.LSTM(16),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=4, batch_size=32, validation_split=0.1, verbose=2)

print("RESULT test_acc", model.evaluate(x_test, y_test, verbose=0)[1])
