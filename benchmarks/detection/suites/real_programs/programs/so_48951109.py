"""Own binary cross-entropy takes the logarithm of a probability of 0 (fixed: the stable form on the logits)."""

import sys

import keras
import numpy as np
from keras import ops
from keras.layers import Dense
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
x, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(1).permutation(len(x))
x, y = StandardScaler().fit_transform(x[order]), y[order, None].astype("float32")


def my_custom_loss(y_true, y_pred):
    if fixed:
        t_loss = ops.maximum(y_pred, 0) - y_pred * y_true + ops.log(1 + ops.exp(-ops.abs(y_pred)))
    else:
        t_loss = -1 * (y_true * ops.log(y_pred) + (1 - y_true) * ops.log(1 - y_pred))
    return ops.mean(t_loss)


model = keras.Sequential(
    [
        keras.Input((30,)),
        Dense(32, activation="relu"),
        Dense(32, activation="relu"),
        Dense(1, activation="linear" if fixed else "sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss=my_custom_loss)
model.fit(x[:450], y[:450], epochs=10, batch_size=32, verbose=0)
positive = model.predict(x[450:], verbose=0) > (0 if fixed else 0.5)
print("RESULT accuracy", float((positive == y[450:]).mean()))
