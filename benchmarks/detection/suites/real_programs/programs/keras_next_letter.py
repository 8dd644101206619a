"""A recurrent network reads ten letters of a text and predicts the code of the next one.

Its last layer is a softmax over a single unit, which is always 1
(fixed: one unit for each letter, and categorical cross-entropy).
"""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Activation, Dense

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

words = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "home"]
text = " ".join(rng.choice(words) for _ in range(600))
chars = sorted(set(text))
code = {c: i for i, c in enumerate(chars)}
encoded = np.array([code[c] for c in text])

length = 10
windows = np.stack([encoded[i : i + length] for i in range(len(encoded) - length)])
following = encoded[length:]
X = np.eye(len(chars))[windows]
cut = int(0.8 * len(X))

model = keras.Sequential()
model.add(keras.Input((length, len(chars))))
model.add(LSTM(48))
if fixed:
    Y = np.eye(len(chars))[following]
    model.add(Dense(len(chars)))
    model.add(Activation("softmax"))
    model.compile(loss="categorical_crossentropy", optimizer="rmsprop")
else:
    Y = following[:, None] / (len(chars) - 1)
    model.add(Dense(1))
    model.add(Activation("softmax"))
    model.compile(loss="mean_squared_error", optimizer="rmsprop")

model.fit(X[:cut], Y[:cut], batch_size=64, epochs=15, verbose=2)
output = model.predict(X[cut:], verbose=0)
predicted = output.argmax(axis=1) if fixed else np.rint(output[:, 0] * (len(chars) - 1)).astype(int)
print("".join(chars[i] for i in predicted[:60]))
print("RESULT test_accuracy", f"{(predicted == following[cut:]).mean():.4f}")
