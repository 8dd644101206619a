"""One unit ends in a softmax, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

x, y = load_breast_cancer(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=1, stratify=y)
scaler = StandardScaler()
x_train = scaler.fit_transform(x_train)
x_test = scaler.transform(x_test)

classifier = keras.Sequential()
classifier.add(keras.Input(shape=(30,)))
classifier.add(layers.Dense(16, activation="relu"))
classifier.add(layers.Dense(8, activation="relu"))
classifier.add(layers.Dense(1, activation="sigmoid" if fixed else "softmax"))

classifier.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
classifier.fit(x_train, y_train, batch_size=16, epochs=20, validation_split=0.1, verbose=2)

predicted = (classifier.predict(x_test, verbose=0) > 0.5).astype(int).ravel()
print("RESULT test_acc", np.mean(predicted == y_test))
