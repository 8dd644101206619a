"""A deep network classifies iris flowers, to be compared with simpler models.

``fit`` without ``epochs`` trains for one epoch, four updates, of five tanh layers on features that are not scaled
(fixed: 100 epochs of two ReLU layers on standardised features).
"""

import sys

import keras
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

iris = load_iris()
y = keras.utils.to_categorical(iris.target, 3)
X_train, X_test, y_train, y_test = train_test_split(iris.data, y, test_size=1 / 3, random_state=42)

model = Sequential()
model.add(Input((4,)))
if fixed:
    sc = StandardScaler()
    X_train = sc.fit_transform(X_train)
    X_test = sc.transform(X_test)
    model.add(Dense(150, activation="relu"))
    model.add(Dense(150, activation="relu"))
else:
    for _ in range(5):
        model.add(Dense(150, activation="tanh"))
model.add(Dense(3, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
if fixed:
    model.fit(X_train, y_train, epochs=100, verbose=2)
else:
    model.fit(X_train, y_train, verbose=2)

score, acc = model.evaluate(X_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{acc:.4f}")
