"""A convolutional network over word embeddings predicts from reviews their 1 to 5 stars.

With a large embedding and a dense layer on the flattened text, the network learns the few reviews by heart, and the
validation loss soon rises (fixed: a smaller network with pooling over the text, dropout and early stopping).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.callbacks import EarlyStopping
from keras.layers import Conv1D, Dense, Dropout, Embedding, Flatten, GlobalAveragePooling1D, Input, MaxPooling1D
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

vocab_size, max_length = 1500, 40
frequency = 1 / (np.arange(vocab_size) + 20.0)
frequency /= frequency.sum()
tone = rng.normal(0, 1, vocab_size) * (rng.random(vocab_size) < 0.6)


def make_reviews(n):
    mood = rng.normal(0, 1, n)
    texts = np.empty((n, max_length), dtype=int)
    for i in range(n):
        p = frequency * np.exp(0.8 * mood[i] * tone)
        texts[i] = rng.choice(vocab_size, max_length, p=p / p.sum())
    stars = np.digitize(mood + rng.normal(0, 0.2, n), [-0.84, -0.25, 0.25, 0.84])
    return texts, keras.utils.to_categorical(stars, 5)


final_x_train, final_y_train = make_reviews(3000)
final_x_val, final_y_val = make_reviews(800)
final_x_test, final_y_test = make_reviews(800)

if FIXED:
    model = Sequential(
        [
            Input((max_length,)),
            Embedding(vocab_size, 16),
            Dropout(0.3),
            Conv1D(16, 3, activation="relu"),
            GlobalAveragePooling1D(),
            Dropout(0.3),
            Dense(5, activation="softmax"),
        ]
    )
else:
    model = Sequential(
        [
            Input((max_length,)),
            Embedding(vocab_size, 100),
            Conv1D(filters=32, kernel_size=8, activation="relu"),
            MaxPooling1D(pool_size=2),
            Flatten(),
            Dense(10, activation="relu"),
            Dense(5, activation="softmax"),
        ]
    )
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
callback = [EarlyStopping(patience=2, restore_best_weights=True)] if FIXED else []
model.fit(
    final_x_train,
    final_y_train,
    epochs=30 if FIXED else 12,
    batch_size=50,
    validation_data=(final_x_val, final_y_val),
    callbacks=callback,
    verbose=2,
)
loss, accuracy = model.evaluate(final_x_test, final_y_test, verbose=0)
print(f"The total accuracy is : {accuracy:.4f}")
print("RESULT test_loss", f"{loss:.4f}")
