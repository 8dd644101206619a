"""A dense network tells four kinds of samples apart by 256 features, which are probabilities from another model.

The probabilities are tiny, down to 1e-9, so that the network hardly sees any difference between samples
(fixed: it gets their logarithms, standardised).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

n, n_features, n_classes = 2000, 256, 4
y = rng.integers(0, n_classes, n)
profile = rng.normal(0, 0.5, (n_classes, n_features))
scores = profile[y] + rng.normal(0, 2.0, (n, n_features)) + rng.normal(0, 1.0, n_features) - 12
X = np.exp(scores).astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1)

if fixed:
    X_train, X_test = np.log(X_train), np.log(X_test)
    mean, std = X_train.mean(axis=0), X_train.std(axis=0)
    X_train, X_test = (X_train - mean) / std, (X_test - mean) / std

model = keras.Sequential(
    [
        keras.Input((n_features,)),
        Dense(64, activation="relu"),
        Dropout(0.2),
        Dense(32, activation="relu"),
        Dense(n_classes, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=12, batch_size=32, validation_data=(X_test, y_test), verbose=2)

print("RESULT test_accuracy", f"{model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
