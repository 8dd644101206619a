"""A small network tells malignant from benign tumours by 30 measurements, which are standardised for the training.

The rows of the test are left as they are, in their own units
(fixed: they go through the scaler of the training rows).
"""

import sys

import keras
from keras.layers import Dense
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(2)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=4, stratify=y)

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
if fixed:
    X_test = scaler.transform(X_test)

model = keras.Sequential(
    [
        keras.Input((30,)),
        Dense(16, activation="relu"),
        Dense(8, activation="relu"),
        Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=40, batch_size=16, verbose=2)

print("train_accuracy", f"{model.evaluate(X_train, y_train, verbose=0)[1]:.4f}")
print("RESULT test_accuracy", f"{model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
