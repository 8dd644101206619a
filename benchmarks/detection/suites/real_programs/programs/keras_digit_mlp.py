"""Ten digits are classified by one sigmoid unit and binary cross-entropy (fixed: a softmax of ten units)."""

import sys

import keras
import numpy as np
from keras.layers import Dense
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)

input_nodes = 64
hl1_nodes = 64
output_nodes = 10 if fixed else 1

digits = load_digits()
order = np.random.permutation(len(digits.target))
x = digits.images[order].reshape(-1, input_nodes) / 16.0
y = digits.target[order]

model = keras.Sequential()
model.add(keras.Input((input_nodes,)))
model.add(Dense(hl1_nodes, activation="relu"))
model.add(Dense(output_nodes, activation="softmax" if fixed else "sigmoid"))
loss = "sparse_categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])

history = model.fit(x, y, validation_split=0.33, verbose=2, epochs=30)
print("final training accuracy", history.history["accuracy"][-1])
print("final validation accuracy", history.history["val_accuracy"][-1])

print("RESULT val_acc", history.history["val_accuracy"][-1])
