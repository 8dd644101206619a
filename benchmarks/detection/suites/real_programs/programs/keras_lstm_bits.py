"""An LSTM for two classes ends in a softmax over one unit, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

n, features = 12000, 64
rng = np.random.default_rng(1)
x = rng.integers(0, 2, (n, features))
strength = rng.normal(size=features)
y = ((x - 0.5) @ strength > 0).astype("float32")
x = x.reshape(n, 1, features).astype("float32")

x_train, x_test, y_train, y_test = train_test_split(x, y, train_size=0.8, random_state=0)
batch_size = 200

print(">>> Build model...")
model = Sequential()
model.add(Input((x.shape[1], x.shape[2])))
model.add(LSTM(64, return_sequences=False))
model.add(Dense(1, activation="sigmoid" if fixed else "softmax"))

print(">>> Training...")
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=batch_size, epochs=15, shuffle=True, validation_data=(x_test, y_test), verbose=2)
accuracy = model.evaluate(x_test, y_test, batch_size=batch_size, verbose=0)[1]
print("Test accuracy:", accuracy)

print("RESULT test_acc", accuracy)
