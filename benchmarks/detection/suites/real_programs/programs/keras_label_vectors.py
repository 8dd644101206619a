"""A net gives each example of a table several of seven labels.

It ends in a softmax with a categorical cross entropy, which lets the labels compete, so hardly any comes above one half
(fixed: a sigmoid and a binary cross entropy).
"""

import sys

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
tf.config.experimental.enable_op_determinism()

X, Y = make_multilabel_classification(
    3000, n_features=30, n_classes=7, n_labels=3, length=80, allow_unlabeled=False, random_state=0
)
X = StandardScaler().fit_transform(X).astype("float32")
Y = Y.astype("float32")
Xt, Yt, X, Y = X[2400:], Y[2400:], X[:2400], Y[:2400]

model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(7),
        layers.Activation("sigmoid" if fixed else "softmax"),
    ]
)
model.compile(
    loss="binary_crossentropy" if fixed else "categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3)
)
model.fit(X, Y, batch_size=32, epochs=15, validation_data=(Xt, Yt), verbose=2)
pred = model.predict(Xt, verbose=0) > 0.5
print("labels per example: true", Yt.sum(1).mean(), "found", pred.sum(1).mean())
print("RESULT f1_samples", round(float(f1_score(Yt, pred, average="samples", zero_division=0)), 4))
