"""Folds train for one epoch, as a wrapper drops ``nb_epoch``, no argument of ``fit`` any more (fixed: ``epochs``)."""

import inspect
import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)


class Classifier:
    """Keeps the arguments for the build function, fit and predict, as the old wrapper did."""

    def __init__(self, build_fn, **sk_params):
        self.build_fn, self.sk_params = build_fn, sk_params

    def filter_params(self, fn):
        known = inspect.signature(fn).parameters
        return {k: v for k, v in self.sk_params.items() if k in known}

    def fit(self, x, y):
        self.model = self.build_fn(**self.filter_params(self.build_fn))
        return self.model.fit(x, y, **self.filter_params(Sequential.fit))

    def score(self, x, y):
        p = self.model.predict(x, **self.filter_params(Sequential.predict))
        return np.mean(p.argmax(1) == y.argmax(1))


def baseline_model():
    model = Sequential()
    model.add(Input((4,)))
    model.add(Dense(8, activation="relu"))
    model.add(Dense(3, activation="softmax"))
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    return model


iris = load_iris()
X = iris.data.astype("float32")
X = (X - X.mean(0)) / X.std(0)
Y = keras.utils.to_categorical(iris.target, 3)

if fixed:
    estimator = Classifier(baseline_model, epochs=100, batch_size=5, verbose=0)
else:
    estimator = Classifier(baseline_model, nb_epoch=100, batch_size=5, verbose=0)

results = []
for train, test in StratifiedKFold(2, shuffle=True, random_state=7).split(X, iris.target):
    h = estimator.fit(X[train], Y[train])
    results.append(estimator.score(X[test], Y[test]))
    print(f"fold: loss {h.history['loss'][-1]:.4f}  test accuracy {results[-1]:.3f}")

print("RESULT accuracy", f"{np.mean(results):.4f}")
