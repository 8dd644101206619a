"""A single sigmoid unit before a softmax of eight, with binary cross-entropy (fixed: 20 units, categorical)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Activation, Dense, Embedding, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

MAX_NB_WORDS = 600
EMBEDDING_DIM = 32
MAX_SEQUENCE_LENGTH = 15
labels_index = {
    name: i for i, name in enumerate(["space", "autos", "hockey", "crypt", "med", "guns", "mac", "forsale"])
}

# posts: common words mixed with words that their group likes
n = 2400
groups = rng.integers(0, len(labels_index), n)
data = rng.integers(1, 400, (n, MAX_SEQUENCE_LENGTH))
topical = rng.random(data.shape) < 0.4
data[topical] = (400 + 25 * groups[:, None] + rng.integers(0, 25, data.shape))[topical]
labels = keras.utils.to_categorical(groups, len(labels_index))

# stands in for GloVe: words of one topic lie near each other
centres = rng.normal(0, 0.5, (9, EMBEDDING_DIM))
embedding_matrix = rng.normal(0, 0.3, (MAX_NB_WORDS, EMBEDDING_DIM))
embedding_matrix[400:] += np.repeat(centres[:8], 25, axis=0)

n_val = 600
x_train, y_train = data[:-n_val], labels[:-n_val]
x_val, y_val = data[-n_val:], labels[-n_val:]

embedding_layer = Embedding(
    MAX_NB_WORDS, EMBEDDING_DIM, trainable=False, embeddings_initializer=keras.initializers.Constant(embedding_matrix)
)

model = Sequential()
model.add(Input((MAX_SEQUENCE_LENGTH,)))
model.add(embedding_layer)
model.add(LSTM(48, dropout=0.2, recurrent_dropout=0.2))
model.add(Dense(20 if fixed else 1))
model.add(Activation("sigmoid"))
model.add(Dense(len(labels_index), activation="softmax"))
loss = "categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(loss=loss, optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=15, batch_size=32, verbose=2)
score = model.evaluate(x_val, y_val, verbose=0)
print("val loss, accuracy:", score)

print("RESULT val_acc", score[1])
