"""Next sample of a sound by a GRU: logits go into a loss that expects shares (fixed: from_logits=True)."""

import sys

import data
import keras
from keras.layers import GRU, Dense, Embedding

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
text = data.characters(6000)
x, y = text[:-1][:5984].reshape(-1, 32), text[1:][:5984].reshape(-1, 32)
model = keras.Sequential([keras.Input((32,), dtype="int32")])
model.add(Embedding(27, 16))
model.add(GRU(32, return_sequences=True))
model.add(Dense(27))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=fixed)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=loss, metrics=["sparse_categorical_accuracy"])
model.fit(x[:160], y[:160], batch_size=8, epochs=6, verbose=0)
print("RESULT accuracy", model.evaluate(x[160:], y[160:], verbose=0)[1])
