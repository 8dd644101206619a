"""A classifier of topics gives logits to a loss that expects probabilities (fixed: ``from_logits=True``)."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, losses

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

max_features = 2000
sequence_length = 60
embedding_dim = 16
tags = ["csharp", "java", "javascript", "python"]


def questions(n):
    label = rng.integers(0, len(tags), n)
    words = rng.integers(2, 1600, (n, sequence_length))
    about = rng.random(words.shape) < 0.15
    words[about] = (1600 + 100 * label[:, None] + rng.integers(0, 100, words.shape))[about]
    length = rng.integers(20, sequence_length + 1, n)
    words[np.arange(sequence_length) >= length[:, None]] = 0
    return words, label


train = tf.data.Dataset.from_tensor_slices(questions(4000)).shuffle(4000, seed=1).batch(32)
val = tf.data.Dataset.from_tensor_slices(questions(1000)).batch(32)
test = tf.data.Dataset.from_tensor_slices(questions(1000)).batch(32)

model = tf.keras.Sequential(
    [
        layers.Input((sequence_length,)),
        layers.Embedding(max_features, embedding_dim),
        layers.Dropout(0.2),
        layers.GlobalAveragePooling1D(),
        layers.Dropout(0.2),
        layers.Dense(len(tags)),
    ]
)
model.compile(loss=losses.SparseCategoricalCrossentropy(from_logits=fixed), optimizer="adam", metrics=["accuracy"])

epochs = 15
history = model.fit(train, validation_data=val, epochs=epochs, verbose=2)

loss, accuracy = model.evaluate(test, verbose=0)
print("Loss: ", loss)
print("Accuracy: ", accuracy)

print("RESULT test_acc", accuracy)
