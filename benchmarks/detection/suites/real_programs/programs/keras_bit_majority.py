"""A classifier of two classes ends in a softmax over one unit, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import Dense
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(123)

# every case is a column of three yes/no readings
votes = np.random.RandomState(5).rand(300, 3) < 0.55
y = votes.sum(axis=1) > 1
x = votes.astype("float32")
y = y.astype("float32")

n_folds = 3
folds = np.repeat(range(n_folds), len(x) // n_folds)
np.random.shuffle(folds)

scores = []
for fold in range(n_folds):
    train, test = folds != fold, folds == fold
    model = Sequential(
        [
            Dense(10, activation="relu"),
            Dense(1, activation="sigmoid" if fixed else "softmax"),
        ]
    )
    model.compile(optimizer="rmsprop", loss="binary_crossentropy")
    model.fit(x[train], y[train], verbose=0, epochs=120, batch_size=train.sum() // 5 + 1)
    guess = model.predict(x[test], verbose=0)[:, 0] > 0.5
    scores.append(np.mean(guess == y[test]))
    print("Fold", fold, "accuracy", scores[-1])
print("Mean accuracy:", np.mean(scores))

print("RESULT test_acc", np.mean(scores))
