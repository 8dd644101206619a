"""An LSTM sorts short messages into two classes.

It is so large that it learns the 500 messages by heart (fixed: the mean of small embeddings, and early stopping).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras.layers import LSTM, Dense, Dropout, Embedding, GlobalAveragePooling1D, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(2)

VOCAB, LENGTH, N = 3000, 18, 800
zipf = 1.0 / np.arange(10, VOCAB + 10)
zipf /= zipf.sum()
tilt = rng.normal(0, 0.55, VOCAB)  # how much a word leans to one class


def message(label):
    p = zipf * np.exp(tilt * (1 if label else -1))
    return rng.choice(VOCAB, rng.integers(8, LENGTH + 1), p=p / p.sum()) + 1


labels = rng.integers(0, 2, N)
X = keras.utils.pad_sequences([message(k) for k in labels], maxlen=LENGTH)
X_train, y_train, X_val, y_val = X[:500], labels[:500], X[500:], labels[500:]

model = Sequential([Input((LENGTH,))])
if fixed:
    model.add(Embedding(VOCAB + 1, 8, mask_zero=True))
    model.add(GlobalAveragePooling1D())
    model.add(Dropout(0.5))
    epochs, stop = 60, [keras.callbacks.EarlyStopping("val_loss", patience=6, restore_best_weights=True)]
else:
    model.add(Embedding(VOCAB + 1, 100, mask_zero=True))
    model.add(Dropout(0.5))
    model.add(LSTM(100, dropout=0.2))
    epochs, stop = 30, []
model.add(Dense(1, activation="sigmoid"))
model.compile(
    loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.003 if fixed else 0.001), metrics=["accuracy"]
)
model.fit(X_train, y_train, epochs=epochs, batch_size=32, validation_data=(X_val, y_val), verbose=2, callbacks=stop)
loss, acc = model.evaluate(X_val, y_val, verbose=0)
print("validation accuracy", acc)
print("RESULT val_loss", f"{loss:.4f}")
