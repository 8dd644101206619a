"""A small dense network tells two kinds of tumours apart from a table of measurements.

It ends in a softmax over a single unit, which is 1 for every input, and argmax over it always says class 0 (fixed: two
units and one-hot labels).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
from keras.layers import Dense, Input
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=5, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
if FIXED:
    t_train, t_test = keras.utils.to_categorical(y_train, 2), keras.utils.to_categorical(y_test, 2)
else:
    t_train, t_test = y_train.reshape(-1, 1).astype("float32"), y_test.reshape(-1, 1).astype("float32")

model = keras.Sequential()
model.add(Input((X.shape[1],)))
model.add(Dense(16, activation="relu"))
model.add(Dense(8, activation="relu"))
model.add(Dense(2 if FIXED else 1, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam")
model.fit(X_train, t_train, epochs=30, batch_size=16, validation_data=(X_test, t_test), verbose=2)

classes = np.argmax(model.predict(X_test, verbose=0), axis=-1)
print("predicted classes:", np.bincount(classes, minlength=2), "true:", np.bincount(y_test))
print("RESULT test_accuracy", f"{np.mean(classes == y_test):.4f}")
