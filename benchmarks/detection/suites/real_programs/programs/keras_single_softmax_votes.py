"""The majority of three votes is learnt by one output unit with softmax, which always says 1 (fixed: sigmoid)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(123)
rng = np.random.default_rng(5)

truth = rng.random(100) < 0.5
X = np.stack([np.where(rng.random(100) < 0.75, truth, ~truth) for _ in range(3)], axis=1)
X = X.astype("float32")
y = (X.sum(axis=1) > 1).astype("float32")

n_folds = 2
folds = np.repeat(np.arange(n_folds), len(X) // n_folds)
rng.shuffle(folds)
y_pred = np.zeros_like(y)

for fold in range(n_folds):
    train, test = folds != fold, folds == fold
    model = Sequential(
        [
            Input((3,)),
            Dense(10, activation="relu"),
            Dense(1, activation="sigmoid" if fixed else "softmax"),
        ]
    )
    model.compile(optimizer=keras.optimizers.RMSprop(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    h = model.fit(X[train], y[train], epochs=60, batch_size=train.sum() // 5 + 1, verbose=0)
    print(f"fold {fold} loss {h.history['loss'][-1]:.4f} training accuracy {h.history['accuracy'][-1]:.3f}")
    y_pred[test] = model.predict(X[test], verbose=0)[:, 0] > 0.5

print("RESULT accuracy", f"{np.mean(y_pred == y):.4f}")
