"""A dense classifier tells two kinds of tumours apart from a table of measurements.

One empty cell makes the weights NaN, so all rows get the same prediction (fixed: rows with an empty cell are left
out).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Sequential
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)

X, y = load_breast_cancer(return_X_y=True)
# the table as it came out of the spreadsheet: one cell was left empty
X[77, 12] = np.nan

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=2, stratify=y)
if fixed:
    keep = ~np.isnan(X_train).any(axis=1)
    X_train, y_train = X_train[keep], y_train[keep]
    keep = ~np.isnan(X_test).any(axis=1)
    X_test, y_test = X_test[keep], y_test[keep]
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
Y_train = keras.utils.to_categorical(y_train, 2)

model = Sequential()
model.add(Input(shape=(30,)))
model.add(Dense(64, activation="relu"))
model.add(Dropout(0.2))
model.add(Dense(32, activation="relu"))
model.add(Dense(2, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(X_train, Y_train, epochs=30, batch_size=32, verbose=2)

pred = model.predict(X_test, verbose=0)
print(pred[:4])
print("RESULT accuracy", round(float(np.mean(np.argmax(pred, 1) == y_test)), 4))
