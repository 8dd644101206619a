"""A small network puts the rows of a table into six classes.

SGD with a rate of 0.00001 makes updates that are too small to learn anything (fixed: 0.1).
"""

import sys

import keras
import tensorflow as tf
from keras import optimizers
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import make_classification

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(12)
tf.config.experimental.enable_op_determinism()

X, y = make_classification(
    6000,
    20,
    n_informative=12,
    n_redundant=2,
    n_classes=6,
    n_clusters_per_class=1,
    class_sep=1.6,
    weights=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1],
    random_state=12,
)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
Y = keras.utils.to_categorical(y, 6)
x_train, y_train, x_val, y_val = X[:5000], Y[:5000], X[5000:], Y[5000:]

model = Sequential()
model.add(Input((20,)))
model.add(Dense(20, activation="relu"))
model.add(Dense(20, activation="relu"))
model.add(Dense(6, activation="softmax"))
sgd = optimizers.SGD(learning_rate=0.1 if fixed else 0.00001, momentum=0.9, nesterov=True)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
model.fit(x_train, y_train, epochs=10, batch_size=128, validation_data=(x_val, y_val), verbose=2)
print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
