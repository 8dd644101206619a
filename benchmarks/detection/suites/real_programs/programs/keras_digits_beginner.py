"""Ten digits are trained by one sigmoid unit and binary cross-entropy (fixed: a softmax of ten units)."""

import sys

import keras
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

input_nodes = 64
hl1_nodes = 64
output_nodes = 10 if fixed else 1

digits = load_digits()
x = digits.data.astype("float32") / 16
x_train, x_test, y_train, y_test = train_test_split(x, digits.target, test_size=0.2, random_state=0)

model = Sequential()
model.add(Input((input_nodes,)))
model.add(Dense(hl1_nodes, activation="relu"))
model.add(Dense(output_nodes, activation="softmax" if fixed else "sigmoid"))

loss = "sparse_categorical_crossentropy" if fixed else "binary_crossentropy"
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
history = model.fit(x=x_train, y=y_train, validation_split=0.33, verbose=2, epochs=25)
score = model.evaluate(x_test, y_test, verbose=0)
print("test loss, accuracy:", score)

print("RESULT test_acc", score[1])
