"""A recurrent network reads sums such as 47+18 letter by letter and writes the result.

A tenth of the questions is kept for validation. The call of ``fit`` gets all questions, those for validation among
them, so the validation accuracy is that of questions it has learnt by heart (fixed: it gets the questions for
training only).
"""

import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
DIGITS, N, BATCH, EPOCHS = 2, 800, 32, 50
CHARS = "0123456789+ "
MAXLEN = 2 * DIGITS + 1


def encode(text, length):
    out = np.zeros((length, len(CHARS)), "float32")
    for i, c in enumerate(text.ljust(length)):
        out[i, CHARS.index(c)] = 1
    return out


seen, questions, answers = set(), [], []
while len(questions) < N + 300:
    a, b = rng.integers(0, 10**DIGITS, 2)
    if tuple(sorted((a, b))) in seen:
        continue
    seen.add(tuple(sorted((a, b))))
    questions.append(encode(f"{a}+{b}"[::-1], MAXLEN))
    answers.append(encode(str(a + b), DIGITS + 1))
X, y = np.array(questions), np.array(answers)
X_fresh, y_fresh = X[N:], y[N:]
X, y = X[:N], y[:N]

split_at = len(X) - len(X) // 10
X_train, X_val = X[:split_at], X[split_at:]
y_train, y_val = y[:split_at], y[split_at:]

model = keras.Sequential(
    [
        keras.Input((MAXLEN, len(CHARS))),
        layers.LSTM(128),
        layers.RepeatVector(DIGITS + 1),
        layers.LSTM(128, return_sequences=True),
        layers.Dense(len(CHARS), activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(0.003), metrics=["accuracy"])
if FIXED:
    X, y = X_train, y_train
history = model.fit(X, y, batch_size=BATCH, epochs=EPOCHS, validation_data=(X_val, y_val), verbose=2)

val_accuracy = history.history["val_accuracy"][-1]
fresh_accuracy = model.evaluate(X_fresh, y_fresh, verbose=0)[1]
print("val accuracy", round(val_accuracy, 4), "accuracy of fresh questions", round(fresh_accuracy, 4))
print("RESULT val_accuracy_above_fresh", f"{val_accuracy - fresh_accuracy:.4f}")
