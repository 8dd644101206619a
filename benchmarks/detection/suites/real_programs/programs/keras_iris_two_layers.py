"""Features in centimetres are given to two layers of tanh with dropout as they are (fixed: StandardScaler)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Sequential
from keras.optimizers import SGD
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(42)

iris = load_iris()
x, y = iris.data, iris.target
y = OneHotEncoder().fit_transform(y[:, np.newaxis]).toarray()

x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.20, random_state=42)
if fixed:
    scaler = StandardScaler().fit(x_train)
    x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)

model = Sequential()
model.add(Input((x.shape[1],)))
model.add(Dense(10, kernel_initializer="random_uniform", activation="tanh"))
model.add(Dropout(0.5))
model.add(Dense(10, kernel_initializer="random_uniform", activation="tanh"))
model.add(Dropout(0.5))
model.add(Dense(y.shape[1], kernel_initializer="random_uniform", activation="softmax"))

sgd = SGD(learning_rate=0.1, momentum=0.9, nesterov=True)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
model.fit(x_train, y_train, epochs=60, batch_size=16, verbose=2)
loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("train:", model.evaluate(x_train, y_train, verbose=0))
print(f"test loss {loss:.3f} accuracy {accuracy:.3f}")

print("RESULT test_acc", accuracy)
